# why: a child sends the kernel every signal there is; it survives or is replaced, and none of them is taken for a limit's.
# kind: signal
# status: ok, error, crashed, memory, timeout
# after: any
# next: 1 + 1
# next-value: 2

import os
import signal
import time

if os.fork() == 0:
    for number in sorted(signal.valid_signals(), reverse=True):
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            os.kill(os.getppid(), number)
    os._exit(0)
time.sleep(0.5)
