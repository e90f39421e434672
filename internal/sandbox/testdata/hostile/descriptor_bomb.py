# why: MEM-12: descriptors are used up; the error is number 24, the result is delivered and the next call needs none.
# kind: descriptor
# status: ok
# stdout-has: 24
# after: kept
# next: len(fds) > 9
# next-value: True

import os

fds = []
try:
    while True:
        fds.append(os.open("/dev/null", os.O_RDONLY))
except OSError as e:
    print(e.errno)
