# why: the whole process group and everything that may be signalled is stopped; if init shared the group, it is not stopped.
# kind: signal
# status: timeout
# after: any

import os
import signal

try:
    os.kill(-1, signal.SIGSTOP)
except OSError as e:
    print(e)
os.kill(0, signal.SIGSTOP)
