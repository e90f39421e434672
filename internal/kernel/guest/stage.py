"""The stage on which code of a chat runs, put in order before and after each run.

`__main__`, the standard streams, descriptors 0 to 2, the working directory, trace
functions, signal handlers: code may leave any of them in disorder, and the next
run finds them in order, with the chat's variables as they were.

A system call costs more in a guest than all else that a short run needs. What can
only be found out by one is therefore looked after only once the code of the chat
has named a function that can disturb it (`_WORDS`).
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _thread
import builtins
import posix
import sys

import refusals
from asking import Asking
from interrupts import Interrupts
from pristine import MODULES
from streams import Streams

_get_limit, _set_limit = sys.getrecursionlimit, sys.setrecursionlimit
_get_interval, _set_interval = sys.getswitchinterval, sys.setswitchinterval
_get_trace, _set_trace = sys.gettrace, sys.settrace
_get_profile, _set_profile = sys.getprofile, sys.setprofile
_thread_count = _thread._count
_dup, _dup2, _open, _chdir, _getcwd = posix.dup, posix.dup2, posix.open, posix.chdir, posix.getcwd
_kind = type(sys)

_RECURSION_LIMIT = _get_limit()
#: How long the kernel waits for the interpreter's lock when threads of the chat compute (seconds).
_PROMPT = 1e-4

_DESCRIPTORS = ("close", "dup2", "detach")
_FOLDER = ("chdir",)
_TIMERS = ("alarm", "itimer", "sigmask")
_WORDS = _DESCRIPTORS + _FOLDER + _TIMERS


class Stage:
    """One per process, made before any code of the chat runs."""

    def __init__(self, options: dict, interrupts: Interrupts, asking: Asking, fd: int) -> None:
        self._work = options.get("work", "/work")
        self._interrupts = interrupts
        self._named: set[str] = set()
        self._interval = _get_interval()
        self._spare = [_spare(number, fd) for number in range(3)]
        self.streams = Streams(asking)
        self._main = _kind("__main__")
        self.names = vars(self._main)
        self.names["__builtins__"] = builtins
        sys.argv = [""]
        sys.path[:0] = [""]
        refusals.install()
        asking.install(self.streams.flush)
        if not hasattr(builtins, "exit"):
            builtins.exit = builtins.quit = sys.exit

    def notice(self, code: str) -> None:
        """Remember what code may disturb, now or in later runs."""
        for word in _WORDS:
            if word in code:
                self._named.add(word)

    def before(self) -> None:
        """Put everything in order for a run."""
        if self._named:
            self._repair()
        MODULES["__main__"] = self._main
        names = self.names
        if names.get("__name__") != "__main__":
            names["__name__"] = "__main__"
        names.pop("__warningregistry__", None)  # a warning is shown once a run, not once a chat
        sys.displayhook, sys.excepthook = sys.__displayhook__, sys.__excepthook__
        self.streams.begin()
        if _get_interval() != self._interval:
            _set_interval(self._interval)

    def after(self) -> None:
        """Take control back from code that has just ended; must come first of all then."""
        if _get_trace() is not None:
            _set_trace(None)
        if _get_profile() is not None:
            _set_profile(None)
        if _get_limit() < _RECURSION_LIMIT:
            _set_limit(_RECURSION_LIMIT)
        if _thread_count():
            self._interval = _get_interval()
            _set_interval(_PROMPT)

    def flush(self) -> None:
        """Flush what code may have printed to: its own replacement of a stream, the streams, those of the C library."""
        self.streams.flush_replaced()
        self.streams.flush()
        library = MODULES.get("_ctypes")
        if library is not None:
            try:
                library.call_function(library.dlsym(library.dlopen(None, 0), "fflush"), (None,))
            except (AttributeError, OSError, TypeError):  # the chat has put another module in its place
                pass

    def end(self) -> None:
        """Put in order at the end of a run what must not stay as it is between runs."""
        self.streams.end()
        if "signal" in MODULES:
            self._interrupts.reset_handlers()
        if not self._named.isdisjoint(_TIMERS):
            self._interrupts.reset_timers()

    def _repair(self) -> None:
        if not self._named.isdisjoint(_DESCRIPTORS):
            for number, spare in enumerate(self._spare):
                try:
                    _dup2(spare, number)
                except OSError:  # the spare ones are closed as well: nothing is left to repair with
                    break
        if not self._named.isdisjoint(_FOLDER):
            try:
                _getcwd()
            except OSError:  # the folder has been deleted
                _chdir(self._work)


def _spare(number: int, fd: int) -> int:
    """Return a copy of a standard descriptor, next to the channel fd, where code that closes the low ones misses it."""
    target = fd - 1 - number
    return _dup2(number, target, False) if target > 10 else _dup(number)
