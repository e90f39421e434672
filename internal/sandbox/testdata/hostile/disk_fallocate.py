# why: space is reserved in one call instead of written; the quota must see it.
# kind: disk
# status: ok
# stdout-has: tried
# stdout-not: BREACH
# after: kept

import os

for number, size in enumerate((128 << 20, 1 << 40, 16 << 20, 16 << 20, 16 << 20, 16 << 20, 16 << 20)):
    fd = os.open(f"/work/reserved-{number}", os.O_RDWR | os.O_CREAT)
    try:
        os.posix_fallocate(fd, 0, size)
    except OSError as e:
        print(size, e)
    os.close(fd)
used = sum(os.stat(f"/work/reserved-{n}").st_blocks * 512 for n in range(7))
if used > 65 << 20:
    print("breach".upper(), used)
print("tried")
