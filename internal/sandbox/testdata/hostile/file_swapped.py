# why: while files are listed and read, a thread swaps a file for a link, a folder and a FIFO; what is read is the file or nothing.
# kind: file-trick
# status: ok
# stdout-has: swapping
# stdout-not: BREACH
# after: kept

import contextlib
import os
import threading
import time

end = time.monotonic() + 2


def remove(path):
    with contextlib.suppress(OSError):
        os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def swap():
    makers = (
        lambda p: os.close(os.open(p, os.O_CREAT | os.O_WRONLY)),
        lambda p: os.symlink("/proc/1/environ", p),
        lambda p: os.symlink("/dev/zero", p),
        os.mkdir,
        os.mkfifo,
        lambda p: os.symlink("/", p),
    )
    while time.monotonic() < end:
        for make in makers:
            for name in ("report.csv", "folder"):
                with contextlib.suppress(OSError):
                    make(f"/work/{name}.new")
                    os.rename(f"/work/{name}.new", f"/work/{name}")
                remove(f"/work/{name}.new")
        remove("/work/folder")


threading.Thread(target=swap, daemon=True).start()
print("swapping")
