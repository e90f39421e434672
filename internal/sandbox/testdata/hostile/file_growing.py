# why: a file grows and shrinks while it is read; its size is a promise that nobody may believe.
# kind: file-trick
# status: ok
# stdout-has: breathing
# after: kept

import os
import threading
import time

end = time.monotonic() + 2
fd = os.open("/work/breathing", os.O_RDWR | os.O_CREAT)


def breathe():
    while time.monotonic() < end:
        for _ in range(64):
            os.write(fd, bytes(1 << 16))
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)


threading.Thread(target=breathe, daemon=True).start()
print("breathing")
