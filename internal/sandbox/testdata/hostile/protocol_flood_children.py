# why: ten forked children hold the channel too and write to it at the same time as the kernel answers.
# kind: protocol
# status: ok
# stdout-has: my own answer
# after: kept

import os
import time

for _ in range(10):
    if os.fork() == 0:
        while True:
            for fd in range(3, 1024):
                try:
                    os.write(fd, b"+" * 1000)
                except OSError:
                    pass
time.sleep(1)
print("my own answer")
