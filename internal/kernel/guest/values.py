"""The text of a value, as `repr` gives it, but bounded in time, memory and length.

Containers of built-in types are walked here, since their own repr builds the
whole text before anybody can cut it. Everything else is asked for its repr, by
`Interrupts.call`, whatever it may do there.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

from itertools import islice

from interrupts import Interrupts
from text import bounded, class_name, full_class_name, line

#: Elements of one container that are shown.
_ITEMS = 1_000
#: Containers within containers that are shown.
_DEPTH = 50
#: Longest integer that is shown in full, and that is shown at all, in bits.
_FULL_BITS = 14_000
_MOST_BITS = 1 << 20
_EDGE = 10**30

_int_repr = int.__repr__
_str_repr = str.__repr__


class Values:
    """Makes texts of at most about `limit` bytes."""

    def __init__(self, limit: int, interrupts: Interrupts) -> None:
        self._limit = limit
        self._interrupts = interrupts
        self._leaves = {int: self._int, str: self._str, bytes: self._bytes, bytearray: self._bytes}
        self._containers = {
            list: self._list,
            tuple: self._tuple,
            dict: self._dict,
            set: self._set,
            frozenset: self._set,
        }

    def text(self, value: object) -> tuple[str, int]:
        """Return the text of value and how many bytes it lacks. Raises only an interrupt."""
        return bounded(self._repr(value, _State(self._limit)), self._limit)

    def _repr(self, value: object, state: "_State") -> str:
        container = self._containers.get(type(value))
        if container is not None:
            return container(value, state)
        text = self._leaves.get(type(value), self._foreign)(value)
        state.left -= len(text)
        return text

    def _foreign(self, value: object) -> str:
        try:
            return str.__str__(self._interrupts.call(repr, value))
        except BaseException as error:
            if error is self._interrupts.raised:
                raise
            kind, message = full_class_name(type(error)), self._message(error)
        return f"<{class_name(type(value))} object; its __repr__ raised {kind}{': ' if message else ''}{message}>"

    def _message(self, error: BaseException) -> str:
        try:
            return line(self._interrupts.call(str, error))
        except BaseException as problem:
            if problem is self._interrupts.raised:
                raise
            return ""

    def _int(self, value: int) -> str:
        bits = value.bit_length()
        if bits <= _FULL_BITS:
            try:
                return _int_repr(value)
            except ValueError:  # the chat has lowered the limit on digits
                pass
        digits = int(bits * 0.30102999566398120) + 1
        if bits > _MOST_BITS:
            return f"<int of about {digits:,} digits>"
        size = abs(value)
        if size >= 10**digits:
            digits += 1
        elif size < 10 ** (digits - 1):
            digits -= 1
        if digits <= 60:
            return f"<int of {digits} digits>"
        head, tail = size // 10 ** (digits - 30), size % _EDGE
        return f"{'-' if value < 0 else ''}{head}…({digits:,} digits in all)…{tail:030}"

    def _str(self, value: str) -> str:
        size = len(value)
        if size <= self._limit:
            return _str_repr(value)
        half = self._limit // 4
        head, tail = _str_repr(value[:half]), _str_repr(value[-half:])
        return f"{head[:-1]} … {size - 2 * half:,} characters left out … {tail[1:]}"

    def _bytes(self, value: bytes | bytearray) -> str:
        size = len(value)
        if size <= self._limit:
            return repr(value)
        half = self._limit // 8
        head, tail = repr(bytes(value[:half])), repr(bytes(value[-half:]))
        text = f"{head[:-1]} … {size - 2 * half:,} bytes left out … {tail[2:]}"
        return text if type(value) is bytes else f"bytearray({text})"

    def _list(self, value: list, state: "_State") -> str:
        return self._items(value, value[:_ITEMS], "[]", state)

    def _tuple(self, value: tuple, state: "_State") -> str:
        text = self._items(value, value[:_ITEMS], "()", state)
        return text[:-1] + ",)" if len(value) == 1 else text

    def _set(self, value: set | frozenset, state: "_State") -> str:
        if not value:
            return repr(value)
        text = self._items(value, list(islice(value, _ITEMS)), "{}", state)
        return text if type(value) is set else f"frozenset({text})"

    def _dict(self, value: dict, state: "_State") -> str:
        return self._items(value, list(islice(value.items(), _ITEMS)), "{}", state)

    def _items(self, whole, items, brackets: str, state: "_State") -> str:
        """Return the text of a container, of which `items` are the first elements."""
        if id(whole) in state.open or len(state.open) >= _DEPTH:
            return f"{brackets[0]}...{brackets[1]}"
        state.open.add(id(whole))
        size = len(whole)
        parts: list[str] = []
        pairs = type(whole) is dict
        for item in items:
            if state.left <= 0:
                break
            if pairs:
                parts.append(f"{self._repr(item[0], state)}: {self._repr(item[1], state)}")
            else:
                parts.append(self._repr(item, state))
        state.open.discard(id(whole))
        if len(parts) < size:
            parts.append(f"… {size - len(parts):,} more")
        return f"{brackets[0]}{', '.join(parts)}{brackets[1]}"


class _State:
    """What a walk through a value carries along."""

    def __init__(self, left: int) -> None:
        self.left = left  # characters that may still be added
        self.open: set[int] = set()  # containers that are being shown, to see a circle
