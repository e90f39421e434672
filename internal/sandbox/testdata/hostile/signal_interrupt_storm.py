# why: a child interrupts the kernel as fast as it can, also while the answer is made; outside of the code interrupts do nothing.
# kind: signal
# status: error
# error-has: KeyboardInterrupt
# after: kept
# next: 1 + 1
# next-value: 2

import os
import signal
import time

if os.fork() == 0:
    while True:
        os.kill(os.getppid(), signal.SIGINT)
time.sleep(4)
