# why: the kernel process is replaced by one that never ends and knows no interrupt; the time limit still holds.
# kind: process
# status: timeout, crashed
# after: any

import os
import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
os.execv("/bin/sleep", ["sleep", "3600"])
