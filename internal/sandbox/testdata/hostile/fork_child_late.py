# why: a forked child would end in SystemExit while the next run is under way; the sweep ends it before, and the next answer is not its own.
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
