# why: children with real work and endless wake-ups take all the processor's time; init still sees the limit and ends the run.
# kind: pid1
# status: timeout
# after: any

import os
import threading

for _ in range(10):
    if os.fork() == 0:
        a, b = os.pipe()
        while True:
            os.write(b, b"x")
            os.read(a, 1)
            os.sched_yield()
lock = threading.Lock()
while True:
    with lock:
        pass
