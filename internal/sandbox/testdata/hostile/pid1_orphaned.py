# why: the kernel forks and its first process ends while the copy goes on: for init the kernel is dead, and the copy is only a left-over.
# kind: pid1
# status: crashed
# error-has: status 4
# stdout-not: COPY
# after: any
# next: 1 + 1
# next-value: 2

import os
import time

if os.fork():
    os._exit(4)
time.sleep(0.5)
print("copy".upper())
