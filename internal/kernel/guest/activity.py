"""Whether code of the chat may have touched files or started processes.

Looking through /work after each run costs a tenth of a millisecond, which a
chat that only computes need not pay. Once anything happened that can
write a file, now or later (an open descriptor, a mapped file, a library of
foreign code, a process), every run of this chat is followed by a look.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import os
import sys

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_EVENTS = frozenset(
    "os.chmod os.chown os.exec os.fork os.forkpty os.link os.mkdir os.posix_spawn os.remove os.rename os.rmdir os.setxattr"
    " os.spawn os.startfile os.symlink os.system os.truncate os.utime subprocess.Popen ctypes.dlopen ctypes.dlsym"
    " mmap.__new__ sqlite3.connect socket.bind pty.spawn".split()
)
_MODULES = frozenset("_posixsubprocess _ctypes mmap _multiprocessing _posixshmem _sqlite3 _curses _dbm _gdbm".split())
_STDLIB = sys.prefix + "/"
#: Functions that make something in a folder without an audit event.
_SILENT = ("mkfifo", "mknod")


class Activity:
    """Set for good by the first event that matters; `install` makes it listen."""

    def __init__(self) -> None:
        self.seen = False

    def notice(self, code: str) -> None:
        """Take it that code which names what makes no event uses it."""
        if any(word in code for word in _SILENT):
            self.seen = True

    def install(self) -> None:
        """Listen to the interpreter's audit events, which code of the chat cannot stop."""
        writing, events, modules, stdlib = _WRITING, _EVENTS, _MODULES, _STDLIB

        def hook(event: str, args: tuple) -> None:
            if self.seen:
                return
            if event == "open":
                if isinstance(args[2], int) and args[2] & writing:
                    self.seen = True
            elif event == "import":
                name, path = args[0], args[1]
                if name in modules or (isinstance(path, str) and path.endswith(".so") and not path.startswith(stdlib)):
                    self.seen = True
            elif event in events:
                self.seen = True

        sys.addaudithook(hook)
