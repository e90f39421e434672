# why: the kernel makes itself the reaper of all orphans and sets a signal for its parent's death; the sweep still finds every process.
# kind: process
# status: ok
# stdout-has: adopted
# after: kept

import ctypes
import os
import signal
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
libc = ctypes.CDLL(None)
libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(0)
os.wait()
print("adopted")
