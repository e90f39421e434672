"""JSON by the interpreter's C functions alone.

The module ``json`` is a megabyte of memory, and code of a chat may replace any
part of it; these functions refer to nothing that has a name outside of here.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

from _json import encode_basestring, make_encoder, make_scanner


class _Context:
    """What the scanner asks for; all as ``json.loads`` has it."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}


def _unknown(value: object) -> object:
    raise TypeError(f"a message cannot carry {type(value)}")


_encode = make_encoder(None, _unknown, encode_basestring, None, ":", ",", False, False, False)
_scan = make_scanner(_Context)


def encode(value: object) -> str:
    """Return value as one line of JSON, characters beyond ASCII as they are."""
    return "".join(_encode(value, 0))


def decode(text: str) -> object:
    """Return the value that text begins with. Raises ValueError if there is none."""
    try:
        return _scan(text, 0)[0]
    except StopIteration:
        raise ValueError("not JSON") from None
