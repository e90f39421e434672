# why: shared anonymous mappings belong to no process's heap; they are counted all the same.
# kind: memory
# status: memory
# error-has: 256 MiB
# after: any

import mmap

areas = []
while True:
    area = mmap.mmap(-1, 16 << 20)
    for offset in range(0, 16 << 20, 4096):
        area[offset] = 1
    areas.append(area)
