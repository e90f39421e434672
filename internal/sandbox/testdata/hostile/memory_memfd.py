# why: pages of a memfd are in no address space at all; they are counted all the same.
# kind: memory
# status: memory
# error-has: 256 MiB
# after: any

import ctypes
import os

libc = ctypes.CDLL(None)
block = b"x" * (1 << 20)
while True:
    fd = libc.memfd_create(b"fill", 0)
    for _ in range(16):
        os.write(fd, block)
