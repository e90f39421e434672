"""The standard streams of the code: descriptors 0, 1 and 2, flushed at each newline.

Descriptors rather than objects are what the host reads, so output of child
processes and of C code is there too, in order. Flushing at each newline is the
price of losing nothing when the process is killed: 100,000 lines take 0.25 s
instead of 0.03 s, and some seconds in a guest, where a system call is slow;
flushing at each write, which would also save a line without its newline, doubles
that. Such a line is flushed at an interrupt and at the end of the run instead.

A thread that an earlier run left behind must not print into a later one: what it
writes is kept apart, to be sent as late output.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _io
import _thread
import posix
import sys
from functools import partial

from asking import Asking, Input
from pristine import MODULES

_identity = _thread.get_ident
_thread_count = _thread._count

#: Most late output that is kept for one message, in characters.
_LATE = 16_384


class Stream(_io.TextIOWrapper):
    """stdout or stderr."""

    def __init__(self, number: int, name: str, streams: "Streams") -> None:
        raw = _io.FileIO(number, "wb", closefd=False)
        raw.name = f"<{name}>"
        super().__init__(_io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)
        self.mode = "w"
        self._streams = streams
        self._label = name

    def write(self, text: str) -> int:
        """Write text, or keep it apart if the calling thread is of an earlier run."""
        streams = self._streams
        if _identity() != streams.main and streams.is_late():
            return streams.keep(self._label, text)
        return _write(self, text)


_write = _io.TextIOWrapper.write
_flush = _io.TextIOWrapper.flush
_register_at_fork = posix.register_at_fork


class Streams:
    """The three streams, and which threads are late."""

    def __init__(self, asking: Asking) -> None:
        self.main = _identity()
        self._asking = asking
        self._between = True
        self._earlier: dict[int, object] = {}
        self._late: list[tuple[str, str]] = []
        self._kept = 0
        self._stdin = Input(asking)
        self._stdout = Stream(1, "stdout", self)
        self._stderr = Stream(2, "stderr", self)
        self._current = [self._stdout], [self._stderr]

    def flush_at_fork(self) -> None:
        """From now on flush before a fork, so that the child does not print again what waits here.

        By C functions alone (the largest of one stream by what flush returns): an exception that a signal
        raises in a function of Python there would be printed, ignored, and so be lost to the code.
        """
        for stream in self._current:
            _register_at_fork(before=partial(max, stream, key=_flush))

    def begin(self) -> None:
        """Put the streams in their places; threads that exist now are of earlier runs."""
        self._place()
        if self._broken():
            self._stdin = Input(self._asking)
            self._stdout, self._stderr = Stream(1, "stdout", self), Stream(2, "stderr", self)
            self._current[0][:], self._current[1][:] = [self._stdout], [self._stderr]
            self._place()
        self._earlier = _threads() if _thread_count() else {}
        self._between = False

    def _place(self) -> None:
        """Put our streams in their places; a replacement that dies by it may close them."""
        sys.stdin = sys.__stdin__ = self._stdin
        sys.stdout = sys.__stdout__ = self._stdout
        sys.stderr = sys.__stderr__ = self._stderr

    def end(self) -> None:
        """Flush; what threads print from now on is late."""
        self._between = True
        self.flush()

    def flush_replaced(self) -> None:
        """Flush streams that code has put in the place of ours; may run its code and raise an interrupt."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not self._stdout and stream is not self._stderr and hasattr(stream, "flush"):
                _try(stream.flush)

    def flush(self) -> None:
        """Flush our own two streams, whatever state they are in."""
        _try(_flush, self._stdout)
        _try(_flush, self._stderr)

    def _broken(self) -> bool:
        try:
            return self._stdin.closed or self._stdout.closed or self._stderr.closed
        except ValueError:  # detached
            return True

    def is_late(self) -> bool:
        """Report whether the calling thread, which is not the main one, is of an earlier run."""
        if self._between:
            return True
        if not self._earlier:
            return False
        identity = _identity()
        return identity in self._earlier and self._earlier[identity] is _threads().get(identity)

    def keep(self, label: str, text: str) -> int:
        """Keep late output, up to a bound."""
        if self._kept < _LATE:
            part = str.__str__(text)[: _LATE - self._kept]
            self._kept += len(part)
            self._late.append((label, part))
        return len(text)

    def take_late(self) -> list[tuple[str, str]]:
        """Return what was kept, a text for each stream, and forget it."""
        if not self._late:
            return []
        late, self._late, self._kept = self._late, [], 0
        texts = ((name, "".join(text for label, text in late if label == name)) for name in ("stdout", "stderr"))
        return [(name, text) for name, text in texts if text]

    def after_fork(self) -> None:
        """In a child process nothing is late."""
        self.main, self._between, self._earlier = _identity(), False, {}


def _threads() -> dict[int, object]:
    """Return the threads by identity; a thread's object tells it from a later one with the same identity."""
    active = getattr(MODULES.get("threading"), "_active", None)
    found: dict[int, object] = dict.fromkeys(sys._current_frames()) if active is None else dict(active)
    return found


def _try(function, *arguments) -> None:
    try:
        function(*arguments)
    except Exception:  # closed, detached, replaced, its pipe broken: the next run gets new streams
        pass
