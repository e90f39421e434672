# why: ten children write to both streams at once; no byte of it may hinder the interrupt, the answer or the sweep.
# kind: output
# status: timeout
# stdout-has: left out
# after: any

import os

for _ in range(10):
    if os.fork() == 0:
        while True:
            os.write(1, b"o" * 65536)
            os.write(2, b"e" * 65536)
while True:
    os.write(1, b"parent\n" * 1000)
