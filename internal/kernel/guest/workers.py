"""Processes of the chat: how multiprocessing starts them, and their end with the run."""

from pristine import BUILTINS as __builtins__  # isort: skip

import _signal
import posix

from pictures import Pictures
from pristine import MODULES
from text import plural

_kill, _getpid, _waitpid, _waitid = posix.kill, posix.getpid, posix.waitpid, posix.waitid
_open, _read, _close = posix.open, posix.read, posix.close
_P_ALL, _WNOHANG, _PEEK = posix.P_ALL, posix.WNOHANG, posix.WEXITED | posix.WNOHANG | posix.WNOWAIT
_SIGKILL = _signal.SIGKILL

#: Rounds of killing: processes that fork faster than they are found are left to the limit on processes.
_ROUNDS = 100


class Workers:
    """Looks after child processes.

    alone says that all processes which this one may signal belong to the chat, as
    in a guest: then also those end that have left their parent.
    """

    def __init__(self, alone: bool, pictures: Pictures) -> None:
        self._alone = alone
        self._pictures = pictures

    def install(self, context) -> None:
        """Make fork the way that multiprocessing starts workers, when its module context was just imported.

        A worker that is started otherwise (Python 3.14 prefers forkserver) imports
        the main program to find the functions that it is sent. Here that is a
        conversation, so such a worker would fail and its pool start another for
        ever. Code that asks for spawn or forkserver gets fork as well, with a note.
        """
        pictures = self._pictures

        class Forked(context.ForkContext):
            """What is given to code that asks for another method."""

            def _check_available(self) -> None:
                pictures.note("multiprocessing starts workers by fork here: only so they know the functions of this chat")

        fork = context._concrete_contexts["fork"]
        context._concrete_contexts.update(spawn=Forked(), forkserver=Forked())
        context._default_context._default_context = fork

    def end(self) -> None:
        """End what runs still and forget what has ended, at the end of a run that may have started processes."""
        ended = 0
        for _ in range(_ROUNDS):
            living = [pid for pid in _descendants(_getpid()) if _kill_one(pid)]
            if self._alone:
                _kill_one(-1)
            if not living:
                break
            ended = max(ended, len(living))
            self._reap(living)
        if ended:
            self._pictures.note(f"{plural(ended, 'process')[:-1] + 'es' if ended > 1 else '1 process'} of this run had not ended and was stopped")
