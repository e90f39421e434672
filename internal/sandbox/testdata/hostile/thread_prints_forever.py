# why: THR-01: a thread prints without end also when the run is over; later runs stay bounded and keep their own output.
# kind: thread
# status: ok
# stdout-has: mine
# after: kept
# next: 1 + 1
# next-value: 2

import os
import threading


def chatter():
    while True:
        try:
            os.write(1, b"late\n")
        except OSError:
            pass


threading.Thread(target=chatter, daemon=True).start()
print("mine")
