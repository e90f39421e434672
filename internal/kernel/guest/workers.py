"""Processes of the chat: how multiprocessing starts them, and their end with the run."""

from pristine import BUILTINS as __builtins__  # isort: skip

import _signal
import posix

from pictures import Pictures
from pristine import MODULES

_kill, _getpid, _waitpid, _waitid = posix.kill, posix.getpid, posix.waitpid, posix.waitid
_open, _read, _close, _listdir = posix.open, posix.read, posix.close, posix.listdir
_P_ALL, _WNOHANG = posix.P_ALL, posix.WNOHANG
_PEEK = posix.WEXITED | posix.WNOHANG | posix.WNOWAIT
_SIGKILL = _signal.SIGKILL

#: Rounds of killing: processes that fork faster than they are found are left to the limit on processes.
_ROUNDS = 100
#: More processes than these are a crowd, which is gone when nobody lives this many times in a row.
_FEW, _QUIET = 8, 5
#: Ended child processes that nobody has waited for, before they are forgotten.
_ZOMBIES = 16
#: Options of this interpreter that one which it starts must not have: they hide the packages.
_OWN_OPTIONS = frozenset(("-I", "-E", "-s", "-S", "-P"))
#: Where joblib (and with it scikit-learn, by n_jobs) keeps its workers, and who keeps their shared memory.
_REUSED = ("joblib.externals.loky.reusable_executor", "loky.reusable_executor")
_KEEPERS = (
    "multiprocessing.resource_tracker",
    "joblib.externals.loky.backend.resource_tracker",
    "loky.backend.resource_tracker",
)


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
                pictures.note(
                    "multiprocessing starts workers by fork here: only so they know the functions of this chat"
                )

        fork = context._concrete_contexts["fork"]
        context._concrete_contexts.update(spawn=Forked(), forkserver=Forked())
        context._default_context._default_context = fork

    def install_options(self, subprocess) -> None:
        """Let interpreters that libraries start find packages, when subprocess was just imported.

        They are started with the options of this one, which must not see what they see.
        """
        options = subprocess._args_from_interpreter_flags

        def without_own() -> list[str]:
            return [option for option in options() if option not in _OWN_OPTIONS]

        subprocess._args_from_interpreter_flags = without_own

    def close_pools(self) -> None:
        """Terminate the pools of multiprocessing that are open. May raise anything.

        Their workers end with the run. A pool that goes on would start others, which wait for ever for
        a lock that a killed one held; one that is closed says so to code that uses it in a later run.
        """
        _close_reused()
        pool, util = MODULES.get("multiprocessing.pool"), MODULES.get("multiprocessing.util")
        if pool is None or util is None:
            return
        for finalizer in list(util._finalizer_registry.values()):
            reference = getattr(finalizer, "_weakref", None)
            owner = reference and reference()
            if isinstance(owner, pool.Pool) and not isinstance(owner, pool.ThreadPool):
                self._pictures.note("a pool of processes that was open at the end of the run was terminated")
                owner.terminate()

    def end(self) -> None:
        """End what runs still, at the end of a run of a chat that may have started processes."""
        if not self._any():
            return
        stopped = quiet = 0
        for _ in range(_ROUNDS):
            found = self._others()
            living = [pid for pid in found if _is_living(pid)]
            # What forks and ends all the time can have nobody alive among those that were listed a moment ago.
            quiet = 0 if living else quiet + 1
            if not living and (len(found) <= _FEW or quiet == _QUIET):
                break
            self._kill(found, living)
            stopped = max(stopped, len(living))
        if stopped:
            self._pictures.note(
                "1 process that had not ended was stopped at the end of the run"
                if stopped == 1
                else f"{stopped} processes that had not ended were stopped at the end of the run"
            )
        self._reap()

    def _kill(self, found: list[int], living: list[int]) -> None:
        """Kill those; a crowd at one stroke, since it forks faster than a list of it is read."""
        if self._alone and len(found) > _FEW:
            _send_kill(-1)  # all but this one and init, multiprocessing's keeper included
            return
        for pid in living:
            _send_kill(pid)

    def _any(self) -> bool:
        """Report, by one or two system calls, whether there may be another process."""
        try:
            _waitid(_P_ALL, 0, _PEEK)
        except ChildProcessError:
            pass
        else:
            return True
        if not self._alone:
            return False
        try:
            _kill(-1, 0)
        except OSError:
            return False
        return True

    def _others(self) -> list[int]:
        """Return the processes of the chat other than this one and the keepers of shared memory."""
        me, keepers = _getpid(), _keepers()
        if self._alone:
            found = [int(name) for name in _listdir("/proc") if name.isdecimal()]
            return [pid for pid in found if pid not in (1, me, *keepers)]
        found, todo = [], [me]
        while todo:
            below = _children(todo.pop())
            found += below
            todo += below
        return [pid for pid in found if pid not in keepers]

    def _reap(self) -> None:
        """Collect ended children once there are many: each counts as a process until its status is taken.

        What an object of the chat will ask for is taken through that object.
        """
        subprocess = MODULES.get("subprocess")
        if subprocess is not None:
            subprocess._cleanup()
        children = _children(_getpid())
        if len(children) <= _ZOMBIES:
            return
        processes = MODULES.get("multiprocessing.process")
        if processes is not None:
            processes._cleanup()
        if subprocess is not None:
            import gc

            for item in gc.get_objects():
                if type(item) is subprocess.Popen:
                    item.poll()
        known = {process.pid for process in getattr(processes, "_children", ())}
        for pid in _children(_getpid()):
            if pid not in known:
                _collect(pid)


def _collect(pid: int) -> None:
    try:
        _waitpid(pid, _WNOHANG)
    except ChildProcessError:  # collected meanwhile
        pass


def _keepers() -> list[int]:
    trackers = [getattr(MODULES.get(name), "_resource_tracker", None) for name in _KEEPERS]
    return [tracker._pid for tracker in trackers if type(getattr(tracker, "_pid", None)) is int]


def _close_reused() -> None:
    """Let workers end that joblib keeps for its next call, which starts others: it takes killed ones for a failure."""
    for name in _REUSED:
        executor = getattr(MODULES.get(name), "_executor", None)
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=bool(executor._pending_work_items))


def _children(pid: int) -> list[int]:
    """Return the child processes of all threads of a process."""
    found: list[int] = []
    try:
        threads = _listdir(f"/proc/{pid}/task")
    except OSError:  # it has ended
        return found
    for thread in threads:
        found += map(int, _contents(f"/proc/{pid}/task/{thread}/children").split())
    return found


def _is_living(pid: int) -> bool:
    """Report whether a process has not ended; one that has is a zombie until its parent asks for it."""
    return _contents(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:1] not in ([], [b"Z"], [b"X"])


def _contents(path: str) -> bytes:
    try:
        fd = _open(path, posix.O_RDONLY)
    except OSError:
        return b""
    try:
        return _read(fd, 1 << 16)
    except OSError:
        return b""
    finally:
        _close(fd)


def _send_kill(pid: int) -> None:
    try:
        _kill(pid, _SIGKILL)
    except OSError:  # it has ended meanwhile, or it is not the chat's
        pass
