"""Pid 1 of a guest: starts the kernel, reaps processes, counts files, survives the kernel.

Runs with `-I -S` and imports only what is built into the interpreter, because a
second Python costs every idle guest its memory; what is needed when a kernel
has died is imported then. PROTOCOL.md says what it speaks with the host.

Arguments: TOKEN KERNEL_OPTIONS NAME=NUMBER... with the limits processes,
open_files, address_space, file_bytes, files.
"""

import _signal
import os
import sys

USER = 1000
WORK = "/work"
CHECK_SECONDS = 1.0


def start_kernel(token: str, options: str, limits: dict[str, int]) -> int:
    """Start a kernel process and return its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
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
        start = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start.py")
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
    """Reap processes until the kernel ends; return its wait status and why init ended it, if it did."""
    reason = ""
    while True:
        _signal.sigtimedwait([_signal.SIGCHLD], CHECK_SECONDS)
        status = _reap(kernel)
        if status is not None:
            return status, reason
        count = _count(limit * 2 + 1)
        if count > limit * 2:
            reason = "files"
            os.kill(kernel, _signal.SIGKILL)
        elif count > limit:
            os.kill(kernel, _signal.SIGRTMIN + 2)


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


def end_everything() -> None:
    """Kill every other process of the guest and reap it."""
    while True:
        try:
            os.kill(-1, _signal.SIGKILL)
        except ProcessLookupError:
            break
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break


def main() -> None:
    """Never returns: the guest ends with this process."""
    token, options = sys.argv[1], sys.argv[2]
    limits = {name: int(value) for name, _, value in (a.partition("=") for a in sys.argv[3:])}
    _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGCHLD])
    while True:
        kernel = start_kernel(token, options, limits)
        status, reason = watch(kernel, limits["files"])
        end_everything()
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        import aftermath

        aftermath.serve(token, WORK, limits["files"], status, reason)


main()
