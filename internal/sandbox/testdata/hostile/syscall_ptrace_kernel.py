# why: a child attaches to the kernel, which allowed it, and stops it for ever; interrupt or kill, the run ends.
# kind: syscall
# status: timeout
# after: any

import ctypes
import os
import time

libc = ctypes.CDLL(None)
PR_SET_DUMPABLE, PR_SET_PTRACER, ANY, PTRACE_ATTACH = 4, 0x59616D61, ctypes.c_ulong(-1), 16
libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
libc.prctl(PR_SET_PTRACER, ANY, 0, 0, 0)
if os.fork() == 0:
    libc.ptrace(PTRACE_ATTACH, os.getppid(), None, None)
    time.sleep(3600)
while True:
    time.sleep(0.1)
