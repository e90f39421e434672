"""Text that may leave the kernel: valid UTF-8, bounded, with a visible mark where it was cut."""

from pristine import BUILTINS as __builtins__  # isort: skip

_encode = str.encode  # of str itself: repr() may return an instance of a hostile subclass
_class_name = type.__dict__["__name__"].__get__
_class_qualname = type.__dict__["__qualname__"].__get__
_class_module = type.__dict__["__module__"].__get__


def bounded(text: str, limit: int) -> tuple[str, int]:
    """Return text in at most about limit bytes, and how many bytes were left out of its middle.

    Lone surrogates, which UTF-8 cannot carry, become their escapes.
    """
    data = _encode(text, "utf-8", "backslashreplace")
    if len(data) <= limit:
        return data.decode(), 0
    head, tail = limit * 2 // 3, limit // 3
    omitted = len(data) - head - tail
    first, last = data[:head].decode("utf-8", "ignore"), data[-tail:].decode("utf-8", "ignore")
    return f"{first}\n… {omitted:,} bytes left out …\n{last}", omitted


def line(text: str, limit: int = 300) -> str:
    """Return text as one short line for a sentence."""
    data = _encode(text, "utf-8", "backslashreplace")
    flat = " ".join(data[: 4 * limit].decode("utf-8", "ignore").split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def class_name(cls: type) -> str:
    """Return the name of a class, past whatever its metaclass says."""
    return _class_name(cls)


def full_class_name(cls: type) -> str:
    """Return module and name of a class as a traceback shows them."""
    try:
        module, name = _class_module(cls), _class_qualname(cls)
    except AttributeError:
        return _class_name(cls)
    if not isinstance(module, str) or module in ("builtins", "__main__"):
        return name
    return f"{module}.{name}"


def plural(count: int, noun: str) -> str:
    """Return '1 task', '2 tasks'."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
