"""os._exit and os.abort write what was printed and stands in no whole line yet, before they end the process.

Output is flushed at each newline, not at each print, which would double its cost.
A crash in C code, or a SIGKILL, still takes the begun line with it. So does the
end of a child process: it may have been forked beside a thread that held the lock
for which flushing waits.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_exit, _abort, _getpid = posix._exit, posix.abort, posix.getpid


def install(os, flush: Callable[[], None]) -> None:
    """Replace both in the module os, for this process and not its children. Whatever `flush` raises is ignored."""
    kernel = _getpid()

    def leave(status: int) -> None:
        """Exit to the system with specified status, without normal exit processing."""
        try:
            if _getpid() == kernel:
                flush()
        finally:
            _exit(status)

    def abort() -> None:
        """Abort the interpreter immediately."""
        try:
            if _getpid() == kernel:
                flush()
        finally:
            _abort()

    leave.__name__ = leave.__qualname__ = "_exit"
    abort.__qualname__ = "abort"
    os._exit, os.abort = leave, abort
