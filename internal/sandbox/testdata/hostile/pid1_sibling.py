# why: a process is made as a child of init instead of the kernel; init gets the end of a child that it does not know.
# kind: pid1
# status: ok
# stdout-has: born
# after: kept

import ctypes
import os
import platform
import signal
import time

CLONE_PARENT = 0x8000
number = 220 if platform.machine() == "aarch64" else 56
libc = ctypes.PyDLL(None)
for status in (0, 7, 255):
    if libc.syscall(number, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(status)
if libc.syscall(number, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0) == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
time.sleep(0.3)
print("born")
