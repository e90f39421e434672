# why: THR-07: an alarm within the run calls its handler, since the code runs in the main thread.
# kind: signal
# status: ok
# stdout-has: alarm
# after: kept

import signal
import time

signal.signal(signal.SIGALRM, lambda *_: print("alarm"))
signal.alarm(1)
time.sleep(2)
