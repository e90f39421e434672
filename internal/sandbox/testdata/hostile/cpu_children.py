# why: ten children compute while the parent waits; the interrupt comes through and all of them are ended.
# kind: cpu
# status: timeout
# after: any

import os

for _ in range(10):
    if os.fork() == 0:
        while True:
            pass
os.wait()
