# why: the kernel's own memory is overwritten at random; what init forked it from was copied, so only this kernel is lost.
# kind: kernel-module
# status: crashed, timeout, ok, error
# after: any
# next: 1 + 1
# next-value: 2

import ctypes
import random

areas = []
for line in open("/proc/self/maps"):
    start, end = (int(x, 16) for x in line.split()[0].split("-"))
    if " rw" in line and end < 1 << 48:
        areas.append((start, end))
random.seed(3)
for _ in range(100_000):
    start, end = random.choice(areas)
    ctypes.memset(random.randrange(start, end - 64), 0xA5, 64)
