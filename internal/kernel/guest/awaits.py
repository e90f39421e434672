"""Runs with a top-level await: one event loop for all of them in a chat.

Runs without one never see a loop, so `asyncio.run` works in them. asyncio costs
8 MB and is imported at the first run that awaits.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

from interrupts import Interrupts
from lateimports import Finder
from pictures import Pictures
from pristine import MODULES
from text import line, plural

_COROUTINE = 0x80
#: What cancelled tasks have to come to an end (seconds), and how many are named.
_CANCEL_SECONDS = 1.0
_NAMED = 5


class Awaits:
    """Owns the loop."""

    def __init__(self, interrupts: Interrupts, finder: Finder, pictures: Pictures) -> None:
        self._interrupts = interrupts
        self._finder = finder
        self._pictures = pictures
        self._loop = None
        self._task = None
        self._asyncio = None

    def run(self, body, last, names: dict[str, object]):
        """Execute body and evaluate last in the loop; return the value. Raises what they raise."""
        if self._asyncio is None:
            self._asyncio = MODULES.get("asyncio") or self._finder.library("asyncio")
        if self._loop is None or self._loop.is_closed():
            self._loop = self._asyncio.new_event_loop()
        self._asyncio.set_event_loop(self._loop)
        self._task = self._loop.create_task(_both(body, last, names), name="run")
        try:
            return self._interrupts.call(self._loop.run_until_complete, self._task)
        except BaseException as error:
            if error is self._interrupts.raised:
                self._locate(error)
            if self._task.done() and not self._task.cancelled():
                self._task.exception()  # it has been told: asyncio must not log it again
            raise

    def _locate(self, interrupt: BaseException) -> None:
        """Let code that an interrupt struck while it waited end, and the interrupt point to where it waited."""
        if self._task.done():
            return
        self._task.cancel()
        self._settle([self._task])
        if self._task.cancelled():
            try:
                self._task.result()
            except self._asyncio.CancelledError as cancelled:
                interrupt.__traceback__ = cancelled.__traceback__

    def end(self) -> None:
        """Cancel tasks that have not ended with the run, and name them in a note. Raises only an interrupt."""
        if self._loop is None or self._loop.is_closed():
            return
        self._task = None
        pending = [task for task in self._asyncio.all_tasks(self._loop) if not task.done()]
        if not pending:
            return
        for task in pending:
            task.cancel()
        named = ", ".join(line(_describe(task), 60) for task in pending[:_NAMED])
        more = f" and {len(pending) - _NAMED} more" if len(pending) > _NAMED else ""
        self._settle(pending)
        self._pictures.note(
            f"{plural(len(pending), 'task')} had not ended with the run and"
            f" {'was' if len(pending) == 1 else 'were'} cancelled: {named}{more}; await a task to have its result"
        )

    def _settle(self, tasks: list) -> None:
        """Run the loop until tasks have ended, for a bounded time."""
        waiting = self._asyncio.wait(tasks, timeout=_CANCEL_SECONDS)
        try:
            self._interrupts.call(self._loop.run_until_complete, waiting)
        except RuntimeError:  # the loop was closed or is stuck in a state that the chat has brought about
            waiting.close()
            self._loop = None


async def _both(body, last, names: dict[str, object]):
    """Execute both parts, of which at least one awaits, in one task."""
    value = None
    for code in (body, last):
        if code is not None:
            value = eval(code, names)
            if code.co_flags & _COROUTINE:
                value = await value
    return value if last is not None else None


def _describe(task) -> str:
    function = getattr(task.get_coro(), "__qualname__", "")
    return f"{task.get_name()} ({function})" if function else task.get_name()
