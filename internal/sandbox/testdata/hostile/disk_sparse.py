# why: a file claims a tebibyte and holds nothing; listing and fetching it must cost what is there, not what is claimed.
# kind: disk
# status: ok
# stdout-has: claimed
# after: kept

import os

fd = os.open("/work/sparse", os.O_RDWR | os.O_CREAT)
for size in (1 << 40, 1 << 50, (1 << 63) - 1):
    try:
        os.ftruncate(fd, size)
        os.pwrite(fd, b"end", size - 3)
    except OSError as e:
        print(e)
print("claimed", os.fstat(fd).st_size)
