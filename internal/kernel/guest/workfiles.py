"""The files in /work: what is there, what a run changed, their bytes out and in.

A path travels as a string whose characters are the bytes of the path. Nothing
follows a symbolic link: every file is opened with O_NOFOLLOW, folder by folder.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import os
import stat
from errno import EDQUOT

from text import plural

CHUNK_BYTES = 1 << 20
LISTED = 20_000  # entries that one report may name

_open, _close, _read, _write = os.open, os.close, os.read, os.write
_scandir, _stat, _fstat, _fsencode = os.scandir, os.stat, os.fstat, os.fsencode
_mkdir, _rmdir, _rename, _unlink = os.mkdir, os.rmdir, os.rename, os.unlink
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MORE = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket"}
_S_IFMT, _S_ISREG, _S_ISDIR = stat.S_IFMT, stat.S_ISREG, stat.S_ISDIR
_NO_ROOM = "there is no room for the rest of it"


class Work:
    """The folder `root`, of which at most `limit` entries are looked at, and twice as many counted."""

    def __init__(self, root: str, limit: int) -> None:
        self._root = os.fsencode(root)
        self._limit = limit
        self._seen: dict[bytes, tuple[int, str, str]] = {}
        self._told = self._seen  # what was seen before the last report, which a host that was killed may not have kept
        self._count = self._before = 0  # entries at the last look, and at the one before

    def scan(self) -> tuple[dict[bytes, tuple[int, str, str]], bool]:
        """Return path → (size, kind, stamp) of all that is no folder, and whether the limit was passed."""
        self._before = self._count
        found, self._count = self._look()
        return found, self._count > self._limit

    def _look(self) -> tuple[dict[bytes, tuple[int, str, str]], int]:
        """Return what is there and how many entries were counted."""
        found: dict[bytes, tuple[int, str, str]] = {}
        folders = [b""]
        count = 0
        while folders:
            folder = folders.pop()
            try:
                with _scandir(self._root + b"/" + folder if folder else self._root) as entries:
                    for entry in entries:
                        count += 1
                        path = folder + b"/" + entry.name if folder else entry.name
                        if count <= self._limit:
                            self._note(entry, path, found, folders)
                        elif count > 2 * self._limit:
                            return found, count
                        elif entry.is_dir(follow_symlinks=False):
                            folders.append(path)
            except OSError:  # removed or made unreadable while we looked
                continue
        return found, count

    def excess(self) -> dict[str, str] | None:
        """Return an error if more than the limit was there at the last look and more than before it.

        Who only deletes gets none. `init` tells the same while code runs, but looks twice a second.
        """
        if self._count <= max(self._limit, self._before):
            return None
        most = 2 * self._limit
        there = f"{self._count:,}" if self._count <= most else f"{most:,} or more"
        text = f"more than {plural(self._limit, 'file')} in {self._root.decode()}: {there} files and folders are there"
        text = f"[Errno {EDQUOT}] {text}"
        return {"type": "OSError", "message": text, "traceback": "OSError: " + text}

    def _note(self, entry, path: bytes, found: dict, folders: list) -> None:
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError:
            return
        if _S_ISDIR(info.st_mode):
            folders.append(path)
            return
        kind = _KINDS.get(_S_IFMT(info.st_mode), "device")
        found[path] = (info.st_size, kind, f"{info.st_mtime_ns}-{info.st_ctime_ns}-{info.st_ino}")

    def baseline(self) -> None:
        """Take what is there now as known, also what the host has just put there.

        gVisor's overlay remembers what it has listed of a folder, until something in
        it is made or removed from inside.
        """
        probe = self._root + b"/.runpython-probe"
        try:
            _mkdir(probe)
            _rmdir(probe)
        except OSError:  # no room, or the chat has something of that name
            pass
        self._seen, _ = self.scan()
        self._told = self._seen

    def recognize(self, unheard: bool) -> None:
        """Take what has kept its size and time as known, after a restore; the last report not, if it may be unheard.

        Files that the host has put there are others now, with the same content: their numbers and
        the time at which they were linked have changed.
        """
        if unheard:
            self._seen = self._told
        if not self._seen:
            return
        now, _ = self.scan()
        for path, entry in now.items():
            known = self._seen.get(path)
            if known is not None and known[:2] == entry[:2] and known[2].split("-")[0] == entry[2].split("-")[0]:
                self._seen[path] = entry

    def changes(self) -> dict | None:
        """Return what differs from the last look, or None."""
        now, over = self.scan()
        before, self._seen = self._seen, now
        self._told = before
        if now == before and not over:
            return None
        changed = [(p, e) for p, e in now.items() if before.get(p) != e]
        deleted = [] if over else [p.decode("latin-1") for p in before if p not in now]
        return report(changed, deleted, len(now), over)

    def listing(self) -> dict:
        """Return a report of all that is there."""
        now, over = self.scan()
        answer = report(list(now.items()), [], len(now), over)
        answer["full"] = not over
        return answer

    def known(self, path: bytes) -> None:
        """Take the present state of path as known."""
        try:
            info = _stat(self._root + b"/" + path, follow_symlinks=False)
        except OSError:
            return
        kind = _KINDS.get(_S_IFMT(info.st_mode), "device")
        self._count += path not in self._seen  # the host has put it there, no run
        entry = (info.st_size, kind, f"{info.st_mtime_ns}-{info.st_ctime_ns}-{info.st_ino}")
        self._seen[path] = self._told[path] = entry

    def get(self, channel, identity: int, paths: list[str], limit: int) -> None:
        """Send the bytes of each path, `limit` at most in all; a file with more is told as not whole."""
        left = limit
        for index, path in enumerate(paths):
            sent, error = self._send(channel, identity, index, path.encode("latin-1"), left)
            left -= sent
            channel.send({"op": "file", "id": identity, "index": index, "end": True, "size": sent, "error": error})

    def _send(self, channel, identity: int, index: int, path: bytes, limit: int) -> tuple[int, str]:
        """Send the bytes of one path; return how many they were, and why they are not all or ''."""
        sent = 0
        try:
            fd = self._open_file(path)
        except OSError as problem:
            return sent, problem.strerror or "unreadable"
        try:
            while True:
                try:
                    data = _read(fd, min(CHUNK_BYTES, limit - sent) or 1)
                except OSError as problem:
                    return sent, problem.strerror or "unreadable"
                if not data:
                    return sent, ""
                if sent == limit:
                    return sent, _NO_ROOM
                channel.send({"op": "file", "id": identity, "index": index, "end": False}, data)
                sent += len(data)
        finally:
            _close(fd)

    def _open_file(self, path: bytes) -> int:
        """Open a regular file; the caller closes it."""
        folder = self._folder(path, make=False)
        try:
            fd = _open(path.rpartition(b"/")[2], _FILE, dir_fd=folder)
        finally:
            _close(folder)
        if not _S_ISREG(_fstat(fd).st_mode):
            _close(fd)
            raise OSError(22, "not a regular file")
        return fd

    def _folder(self, path: bytes, make: bool) -> int:
        """Open the folder of path, step by step; the caller closes it."""
        fd = _open(self._root, _FOLDER)
        for name in path.split(b"/")[:-1]:
            if name in (b"", b".", b".."):
                _close(fd)
                raise OSError(22, "not a plain relative path")
            try:
                if make:
                    try:
                        _mkdir(name, 0o755, dir_fd=fd)
                    except FileExistsError:
                        pass
                below = _open(name, _FOLDER, dir_fd=fd)
            finally:
                _close(fd)
            fd = below
        return fd

    def put(self, path: bytes, data: bytes, first: bool, last: bool) -> str:
        """Write a chunk of a file beside its place, and move it there with the last; return an error or ''."""
        name = path.rpartition(b"/")[2]
        if name in (b"", b".", b".."):
            return "not a plain relative path"
        draft = b".runpython-upload"
        try:
            folder = self._folder(path, make=True)
            try:
                if first:
                    _remove(draft, folder)
                fd = _open(draft, _NEW if first else _MORE, 0o644, dir_fd=folder)
                try:
                    while data:
                        data = data[_write(fd, data) :]
                finally:
                    _close(fd)
                if last:
                    _rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
                    self.known(path)
            finally:
                _close(folder)
        except OSError as problem:
            return problem.strerror or "not writable"
        return ""

    def remove(self, path: bytes) -> str:
        """Remove what is no folder, and folders above it that are empty then; return an error or ''."""
        try:
            folder = self._folder(path, make=False)
            try:
                _remove(path.rpartition(b"/")[2], folder)
            finally:
                _close(folder)
        except OSError as problem:
            return problem.strerror or "not removable"
        self._seen.pop(path, None)
        above = path.rpartition(b"/")[0]
        while above:
            try:
                below = self._folder(above, make=False)
                try:
                    _rmdir(above.rpartition(b"/")[2], dir_fd=below)
                finally:
                    _close(below)
            except OSError:  # something else is in it
                break
            above = above.rpartition(b"/")[0]
        return ""


def _remove(name: bytes, folder: int) -> None:
    try:
        _unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def report(changed: list, deleted: list, total: int, over: bool) -> dict:
    """Return the `files` field of a message."""
    named = [[p.decode("latin-1"), size, kind, stamp] for p, (size, kind, stamp) in changed[:LISTED]]
    return {"changed": named, "deleted": deleted[:LISTED], "total": total, "over": over}
