# why: ten children open as many files as each may; the sum is the sandbox's burden and must not end the guest's service.
# kind: descriptor
# status: ok
# stdout-has: all full
# after: kept

import os
import time

r, w = os.pipe()
for _ in range(10):
    if os.fork() == 0:
        try:
            while True:
                os.open("/dev/null", os.O_RDONLY)
        except OSError:
            os.write(w, b".")
        time.sleep(3600)
seen = 0
while seen < 10:
    seen += len(os.read(r, 10))
print("all full")
