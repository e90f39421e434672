# why: the kernel stops itself, so that no interrupt wakes it; the kill follows after the grace.
# kind: signal
# status: timeout
# after: any

import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
