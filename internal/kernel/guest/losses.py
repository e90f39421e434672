"""Data that was lost because there was no room for it, which Python tells nobody who could act on it.

`open("a.csv", "w").write(text)` leaves closing the file to the interpreter. If the disk
is full then, an exception in a finalizer has no caller: it is printed and ignored, and
the run looks like a success. The interpreter's audit event for such exceptions comes
whatever code of the chat has put in the place of `sys.unraisablehook`.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import sys
from errno import EDQUOT, EFBIG, ENOSPC

from text import line

_NO_ROOM = {ENOSPC: "No space left on device", EDQUOT: "Disk quota exceeded", EFBIG: "File too large"}
_number = OSError.errno.__get__  # past what a subclass of the chat's own says

#: Losses of one run that are told.
_TOLD = 5


class Losses:
    """Collects what was lost; `install` makes it listen."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def install(self) -> None:
        """Listen to the interpreter's audit events, which code of the chat cannot stop."""
        found, numbers, number_of = self._found, _NO_ROOM, _number

        def hook(event: str, args: tuple) -> None:
            if event != "sys.unraisablehook" or len(found) >= _TOLD:
                return
            error, what = args[1].exc_value, args[1].err_msg
            if not issubclass(type(error), OSError):
                return
            number = number_of(error)
            if type(number) is int and number in numbers:
                what = line(what) if type(what) is str else "Exception ignored"
                found.append(f"OSError: [Errno {number}] {numbers[number]} ({what})")

        sys.addaudithook(hook)

    def take(self) -> dict[str, str] | None:
        """Return the fields of an error that tells what was lost since the last call, None if nothing was."""
        if not self._found:
            return None
        lines = self._found[:]
        self._found.clear()
        text = "\n".join((*lines, "Data that was not written yet is lost, since closing the file has failed."))
        return {"type": "OSError", "message": lines[0].removeprefix("OSError: "), "traceback": text}
