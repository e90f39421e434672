# why: the kernel asks to be traced by init and stops at a signal; init may not take the stop for an end, and the limit holds.
# kind: syscall
# status: timeout
# after: any

import ctypes
import os
import signal

PTRACE_TRACEME = 0
if ctypes.CDLL(None).ptrace(PTRACE_TRACEME, 0, None, None) == 0:
    os.kill(os.getpid(), signal.SIGUSR1)
while True:
    pass
