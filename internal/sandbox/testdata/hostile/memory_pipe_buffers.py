# why: every process enlarges its pipes to 1 MiB and fills them, far below the limits of open files and processes; the sum must count.
# kind: memory
# status: memory, killed
# error-has: 256 MiB
# after: any

import fcntl
import os
import time


def fill():
    block = b"x" * 65536
    while True:
        try:
            _, end = os.pipe()
        except OSError:
            return
        os.set_blocking(end, False)
        try:
            fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 1 << 20)
        except OSError:
            pass
        try:
            while True:
                os.write(end, block)
        except OSError:
            pass


for _ in range(50):
    if os.fork() == 0:
        fill()
        time.sleep(60)
        os._exit(0)
time.sleep(60)
