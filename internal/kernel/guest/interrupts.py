"""Signals from outside that interrupt code of the chat, and never the kernel.

The host sends them (PROTOCOL.md). CPython runs their handlers in the main thread
between two instructions of whatever frame is current. A handler here raises only
if that frame is code of the chat, or code of the kernel that such code has
called, or `Interrupts.call`: below `call` the kernel expects any exception at any
place. Otherwise the interrupt is kept and raised at the next `call`. So no
exception strikes the kernel between two steps, and no interrupt is lost.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _signal
import sys
from errno import EDQUOT

from text import plural

_set_handler = _signal.signal
_get_handler = _signal.getsignal
_set_timer = _signal.setitimer
_set_mask = _signal.pthread_sigmask
_current_frame = sys._getframe

_TIMERS = (_signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL, _signal.ITIMER_PROF)
_MEMORY = _signal.SIGXCPU
_FILES = _signal.SIGRTMIN + 2


class Interrupts:
    """Owns the signal handlers of the process. Only the main thread uses it."""

    def __init__(self, options: dict) -> None:
        limit, files = options.get("memory_limit", 0), options.get("files_limit", 0)
        self._memory_text = f"the memory limit of {_size(limit)} was reached"
        self._files_text = f"more than {plural(files, 'file')} in {options.get('work', '/work')}"
        self._running = False
        self._holding = 0
        self._pending = 0
        #: The exception that a handler raised last in this run, to be told from the chat's own.
        self.raised: BaseException | None = None
        self._own: frozenset[int] = frozenset()
        self._flush = lambda: None
        self._zone = Interrupts.call.__code__
        self._usual: dict[int, object] = {}

    def install(self, own: frozenset[int], flush) -> None:
        """Set the handlers.

        own has the identities of the kernel's global namespaces; flush is called at
        an interrupt, so that what was printed without a newline is out even if the
        code does not end and is killed.
        """
        self._own, self._flush = own, flush
        for number in (_signal.SIGINT, _MEMORY, _FILES):
            _set_handler(number, self._on_signal)
        for number in _signal.valid_signals():
            self._usual[number] = _get_handler(number)

    def begin(self) -> None:
        """From now on signals matter."""
        self._pending, self.raised, self._running = 0, None, True

    def end(self) -> None:
        """From now on they do not."""
        self._running, self._pending, self.raised = False, 0, None

    def call(self, function, *arguments):
        """Call something that may run code of the chat or take long; may raise anything."""
        if self._pending:
            self._deliver()
        return function(*arguments)

    def undisturbed(self, function, *arguments):
        """Call something that must not stop half way, such as the sending of a message."""
        self._holding += 1
        try:
            result = function(*arguments)
        finally:
            self._holding -= 1
        if self._pending and not self._holding and self._may_raise(_current_frame()):
            self._deliver()
        return result

    def _deliver(self) -> None:
        number, self._pending = self._pending, 0
        self.raised = self._exception(number)
        raise self.raised

    def _on_signal(self, number: int, frame) -> None:
        if not self._running:
            return
        try:
            self._flush()
        except Exception:  # a write was under way in this thread, or the chat has closed the stream
            pass
        if self._holding or not self._may_raise(frame):
            self._pending = number
            return
        self.raised = self._exception(number)
        raise self.raised

    def _may_raise(self, frame) -> bool:
        own = self._own
        while frame is not None and id(frame.f_globals) in own:
            if frame.f_code is self._zone:
                return True
            frame = frame.f_back
        return frame is not None

    def _exception(self, number: int) -> BaseException:
        if number == _MEMORY:
            return MemoryError(self._memory_text)
        if number == _FILES:
            return OSError(EDQUOT, self._files_text)
        return KeyboardInterrupt()

    def reset_handlers(self) -> bool:
        """Undo what a run did to signal handlers; return whether it did anything.

        Timers stop first: without its handler an alarm would end the process.
        """
        changed = False
        for number, usual in self._usual.items():
            if _get_handler(number) is not usual:
                if not changed:
                    changed = True
                    self.reset_timers()
                _set_handler(number, _signal.SIG_DFL if usual is None else usual)
        return changed

    def reset_timers(self) -> None:
        """Stop alarms and interval timers, and let all signals through again."""
        for timer in _TIMERS:
            _set_timer(timer, 0)
        _set_mask(_signal.SIG_SETMASK, ())


def _size(count: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit:,} {name}"
    return f"{count:,} bytes" if count < 1 << 20 else f"{count / (1 << 20):,.0f} MiB"
