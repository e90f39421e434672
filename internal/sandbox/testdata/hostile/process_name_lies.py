# why: a name with brackets, blanks and a newline makes /proc/PID/stat and status lie; the sweep must not be fooled by it.
# kind: process
# status: ok
# stdout-has: disguised
# after: kept

import os
import time

r, w = os.pipe()
for name in (b"x) Z 1 1 1", b"a\nState:\tZ", b"(1) R 0 0", b"\xff\xfe) S 2"):
    if os.fork() == 0:
        with open("/proc/self/comm", "wb") as f:
            f.write(name)
        os.write(w, b".")
        time.sleep(3600)
for _ in range(4):
    os.read(r, 1)
print("disguised")
