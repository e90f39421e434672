# why: pages of a memfd are in no address space at all; they are counted all the same.
# kind: memory
# status: memory
# error-has: 256 MiB
# after: any

import os

block = b"x" * (1 << 20)
files = []
while True:
    fd = os.memfd_create("fill")
    files.append(fd)
    for _ in range(16):
        os.write(fd, block)
