# why: a daemon (double fork, own session, signals ignored) prints for ever; the run does not wait for it and the sweep ends it.
# kind: process
# status: ok
# stdout-has: run is over
# after: kept
# next: 1 + 1
# next-value: 2

import os
import signal

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except OSError, ValueError:
                pass
        while True:
            try:
                os.write(1, b"still here\n" * 100)
            except OSError:
                pass
    os._exit(0)
os.wait()
print("run is over")
