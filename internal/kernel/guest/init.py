"""Pid 1 of a guest: starts the kernel, reaps processes, counts files, survives the kernel.

Runs with `-I -S` and imports only what is built into the interpreter, because a
second Python costs every idle guest its memory; what is needed when a kernel
has died is imported then. PROTOCOL.md says what it speaks with the host.

Arguments: TOKEN KERNEL_OPTIONS NAME=NUMBER... with the limits processes,
open_files, address_space, file_bytes, files, and egress=PORT where there is a way out.
"""

import _signal
import os
import sys
import time

USER = 1000
WORK = "/work"
CHECK_SECONDS = 0.5
#: A count of many folders takes seconds: it has no more than this part of a processor.
COUNTED_PART = 0.2
_PROGRAMS = os.path.dirname(os.path.abspath(__file__))


def start_kernel(token: str, options: str, limits: dict[str, int], first: bool) -> int:
    """Start a kernel process and return its pid; the first one seals the guest before."""
    pid = os.fork()
    if pid:
        return pid
    try:
        if first:
            import seal

            seal.seal()
        os.setsid()
        channel = limits["open_files"] - 1
        os.dup2(0, channel, inheritable=True)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        _limit(limits)
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        os.chdir(WORK)
        os.umask(0o022)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, [])
        start = os.path.join(_PROGRAMS, "start.py")
        os.execv(sys.executable, [sys.executable, "-I", "-B", start, str(channel), token, options])
    except BaseException as error:  # the host reads this as what the code printed
        os.write(2, f"runpython: the interpreter could not be started: {error!r}\n".encode())
    finally:
        os._exit(70)


def _limit(limits: dict[str, int]) -> None:
    import resource

    def both(which: int, value: int) -> None:
        resource.setrlimit(which, (value, value))

    both(resource.RLIMIT_CORE, 0)
    both(resource.RLIMIT_NPROC, limits["processes"])
    both(resource.RLIMIT_NOFILE, limits["open_files"])
    both(resource.RLIMIT_FSIZE, limits["file_bytes"])
    both(resource.RLIMIT_AS, limits["address_space"])


def watch(kernel: int, limit: int) -> tuple[int, str]:
    """Reap processes until the kernel ends; return its wait status and why init ended it, if it did.

    Files above the limit are told to code that makes more of them, and not to code that
    deletes them; a kernel that begins with too many may still add as many as the limit.
    """
    reason, begun = "", time.monotonic()
    before = _count(limit * 3)
    most = max(limit * 2, before + limit)
    while True:
        counted = time.monotonic() - begun
        _signal.sigtimedwait([_signal.SIGCHLD], max(CHECK_SECONDS, counted / COUNTED_PART))
        begun = time.monotonic()
        status = _reap(kernel)
        if status is not None:
            return status, reason
        if _is_zombie(kernel):  # another process traces it and is told of its end in our place
            end_everything(but=kernel)
            continue
        count = _count(limit + 1)
        if count > limit:
            if before <= limit:  # tell at once; counting on takes its time
                os.kill(kernel, _signal.SIGRTMIN + 2)
            count = _count(most + 1)
            if count > most:
                reason = "files"
                os.kill(kernel, _signal.SIGKILL)
            elif before > limit and count > before:
                os.kill(kernel, _signal.SIGRTMIN + 2)
        before = count


def _reap(kernel: int) -> int | None:
    """Reap what has ended; return the kernel's status if it is among them."""
    ended = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        if pid == kernel:
            ended = status


def _is_zombie(pid: int) -> bool:
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.read(fd, 512).rpartition(b")")[2].split()[:1] == [b"Z"]
    finally:
        os.close(fd)


def _count(most: int) -> int:
    """Count the entries below WORK, at most about `most`; never follows a link."""
    folders, count = [WORK], 0
    while folders and count < most:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    count += 1
                    if count >= most:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:  # gone meanwhile, or not readable even for us: not countable, so not there
            continue
    return count


def end_everything(but: int = 0) -> None:
    """Kill every other process of the guest and reap it, but for the status of one that has ended."""
    while True:
        others = [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) not in (1, but)]
        if not others:
            return
        for pid in others:
            try:
                os.kill(pid, _signal.SIGKILL)
            except ProcessLookupError:
                continue
        for pid in others:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:  # not ours yet: its parent is among the killed
                continue


def _open_way_out(port: int, open_files: int) -> None:
    """Start the forwarder in a thread: what it needs is built in, and a process would be a second Python."""
    import _warnings

    import forwarder

    forwarder.start(port, open_files)
    # The next kernel is forked beside the thread, which imports nothing and holds no lock that the child needs.
    _warnings.filters.insert(0, ("ignore", None, DeprecationWarning, None, 0))


def main() -> None:
    """Never returns: the guest ends with this process."""
    sys.path.insert(0, _PROGRAMS)
    import seal

    token, options = sys.argv[1], sys.argv[2]
    limits = {name: int(value) for name, _, value in (a.partition("=") for a in sys.argv[3:])}
    _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGCHLD])
    kernel = start_kernel(token, options, limits, first=True)
    seal.give_up()
    if "egress" in limits:
        _open_way_out(limits["egress"], limits["open_files"])
    while True:
        status, reason = watch(kernel, limits["files"])
        end_everything()
        import aftermath

        aftermath.serve(token, WORK, limits["files"], status, reason)
        kernel = start_kernel(token, options, limits, first=False)


main()
