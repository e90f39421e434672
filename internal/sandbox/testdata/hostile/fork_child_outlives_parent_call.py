# why: a forked child raises after its parent's run is over; its end must not be taken for the end of the next run.
# kind: process
# status: ok
# after: kept
# next: (__import__("time").sleep(1), "mine")[1]
# next-value: 'mine'

import os
import signal
import time

if os.fork() == 0:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(0.5)
    raise SystemExit(9)
