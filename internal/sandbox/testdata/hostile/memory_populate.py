# why: one mmap call with MAP_POPULATE takes 2 GiB before any poll; the guest is ended, the host gets the memory back.
# kind: memory
# status: memory
# error-has: 256 MiB
# after: any

import mmap
import time

flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
area = mmap.mmap(-1, 2 << 30, flags=flags)
time.sleep(60)
