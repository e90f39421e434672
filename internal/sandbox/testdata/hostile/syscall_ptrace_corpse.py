# why: the kernel ends while a child of its own traces it, so its death is reported to the child and not to init, which waits for it.
# kind: syscall
# status: crashed, timeout
# after: any

import ctypes
import os
import time

libc = ctypes.CDLL(None)
PR_SET_DUMPABLE, PR_SET_PTRACER, ANY = 4, 0x59616D61, ctypes.c_ulong(-1)
PTRACE_SEIZE = 0x4206
libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
libc.prctl(PR_SET_PTRACER, ANY, 0, 0, 0)
r, w = os.pipe()
if os.fork() == 0:
    libc.ptrace(PTRACE_SEIZE, os.getppid(), None, None)
    os.write(w, b".")
    time.sleep(3600)
os.read(r, 1)
os._exit(3)
