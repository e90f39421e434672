# why: the code interrupts itself; that is its own KeyboardInterrupt and not the time limit.
# kind: signal
# status: error
# error-has: KeyboardInterrupt
# after: kept
# next: 1 + 1
# next-value: 2

import os
import signal

os.kill(os.getpid(), signal.SIGINT)
