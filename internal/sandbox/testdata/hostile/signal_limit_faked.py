# why: the code sends itself the signals that tell of limits; it fools itself alone, and the kernel goes on.
# kind: signal
# status: ok
# stdout-has: MemoryError
# stdout-has: OSError
# after: kept
# next: 1 + 1
# next-value: 2

import os
import signal
import time

for number in (signal.SIGXCPU, signal.SIGRTMIN + 2):
    try:
        os.kill(os.getpid(), number)
        time.sleep(0.1)
    except BaseException as e:
        print(type(e).__name__)
