"""An exception of the chat's code as text: type, message, traceback of the chat's own frames.

The standard library's traceback does the work: carets, suggestions, chains,
groups, notes. It costs 20 ms and 3 MB, so it is imported at the first exception
of a chat, or before code that speaks of threads: beside two dozen that compute,
each of the some hundred reads of the import waits until all of them have had
their turn of the interpreter's lock, 15 s in all. Where it cannot be had, or fails
since code of the chat has patched what it needs, a plain form of our own is used.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import linecache

from interrupts import Interrupts
from lacks import lacking
from lateimports import Finder
from text import bounded, full_class_name

#: What the names of the chat's own source begin with, see source.py.
RUN_PREFIX = "<run "

#: What code that starts threads itself has in it: thread, Thread, ThreadPoolExecutor.
_THREADS = "hread"

#: Frames of one traceback that are looked at; more, from a raised recursion limit, lose their middle.
_FRAMES = 1_500
#: Exceptions of one chain, or nested in groups, that are looked at.
_EXCEPTIONS = 100


class Tracebacks:
    """Makes texts of exceptions, of at most about `limit` bytes each."""

    def __init__(self, limit: int, interrupts: Interrupts, finder: Finder) -> None:
        self._limit = limit
        self._interrupts = interrupts
        self._finder = finder
        self._files: frozenset[str] = frozenset()
        self._describe = None

    def own(self, files: frozenset[str]) -> None:
        """Leave out frames of these files."""
        self._files = files

    def prepare(self) -> None:
        """Import what the full form needs. Raises ImportError, or whatever the import meets."""
        if self._describe is None:
            self._describe = self._finder.library("traceback").TracebackException

    def notice(self, code: str) -> None:
        """Prepare before code that may start threads. Raises only an interrupt."""
        if self._describe is None and _THREADS in code:
            try:
                self._interrupts.call(self.prepare)
            except Exception as problem:  # then the plain form will do
                if problem is self._interrupts.raised:
                    raise

    def report(self, error: BaseException) -> dict[str, str]:
        """Return the fields of `error` in a `done` message."""
        kind = full_class_name(type(error))
        message, _ = bounded(self.message(error), self._limit // 4)
        text, _ = bounded(self._text(error, kind, message).rstrip("\n"), self._limit)
        return {"type": kind, "message": message, "traceback": text}

    def lacks(self, error: BaseException, can_install: bool) -> list[str]:
        """Return sentences about what the exception misses and the code cannot have, or can by an import."""
        try:
            return self._interrupts.call(lacking, _family(error), RUN_PREFIX, can_install)
        except BaseException:  # a hostile exception, or an interrupt: then nothing is said
            return []

    def message(self, error: BaseException) -> str:
        """Return str(error), or what became of it."""
        try:
            return str.__str__(self._interrupts.call(str, error))
        except BaseException as problem:
            return f"<its __str__ raised {full_class_name(type(problem))}>"

    def _text(self, error: BaseException, kind: str, message: str) -> str:
        try:
            self.prepare()
            return self._interrupts.call(self._full, error)
        except BaseException:  # patched, out of memory, out of descriptors, interrupted, a hostile exception
            return self._plain(error, kind, message)

    def _full(self, error: BaseException) -> str:
        for problem in _family(error):
            _shorten(problem)
        described = self._describe(type(error), error, error.__traceback__, compact=True)
        self._clean(described)
        return "".join(described.format())

    def _clean(self, described) -> None:
        """Take the kernel's frames out of a TracebackException and all that it contains."""
        todo = [described]
        while todo:
            item = todo.pop()
            frames = [frame for frame in item.stack[self._lead(item.stack) :] if frame.filename not in self._files]
            if frames:
                item.stack[:] = frames
            else:
                item.stack = None  # no line says "Traceback" without one that follows
            todo += [other for other in (item.__cause__, item.__context__) if other is not None]
            todo += item.exceptions or ()

    def _lead(self, stack) -> int:
        """Return how many frames led to the chat's code: the kernel's, and the library's that it called, as asyncio."""
        lead = 0
        for index, frame in enumerate(stack):
            if frame.filename.startswith(RUN_PREFIX):
                break
            if frame.filename in self._files:
                lead = index + 1
        return lead

    def _plain(self, error: BaseException, kind: str, message: str) -> str:
        lines, trace = [], error.__traceback__
        while trace is not None and len(lines) < _FRAMES:
            code = trace.tb_frame.f_code
            if code.co_filename not in self._files:
                lines.append(f'  File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}\n')
                lines.append(_source_line(code.co_filename, trace.tb_lineno))
            trace = trace.tb_next
        head = "Traceback (most recent call last):\n" if lines else ""
        return f"{head}{''.join(lines)}{kind}: {message}\n" if message else f"{head}{''.join(lines)}{kind}\n"


def _source_line(file: str, number: int) -> str:
    try:
        return f"    {linecache.cache[file][2][number - 1].strip()}\n"
    except (KeyError, IndexError, TypeError, AttributeError):
        return ""


def _family(error: BaseException) -> list[BaseException]:
    """Return error and the exceptions that a traceback shows with it."""
    found, seen, todo = [], set(), [error]
    while todo and len(found) < _EXCEPTIONS:
        item = todo.pop()
        if not isinstance(item, BaseException) or id(item) in seen:
            continue
        seen.add(id(item))
        found.append(item)
        todo += (item.__cause__, item.__context__)
        if isinstance(item, BaseExceptionGroup):
            todo += item.exceptions
    if todo:  # the last one that is shown must not drag the rest along
        found[-1].__cause__ = found[-1].__context__ = None
    return found


def _shorten(error: BaseException) -> None:
    """Take the middle out of a very long traceback."""
    entries, trace = [], error.__traceback__
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    if len(entries) <= _FRAMES:
        return
    joined = None
    for entry in reversed(entries[: _FRAMES // 2] + entries[-_FRAMES // 2 :]):
        joined = type(entry)(joined, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = joined
