# why: ten children fill /work at the same time, each below a limit per file; together they must stay below the quota.
# kind: disk
# status: ok
# stdout-has: all ended
# stdout-not: BREACH
# after: kept

import os


def fill(number):
    with open(f"/work/part-{number}", "wb", buffering=0) as f:
        for _ in range(30):
            f.write(bytes(1 << 20))


for number in range(10):
    if os.fork() == 0:
        try:
            fill(number)
        finally:
            os._exit(0)
for _ in range(10):
    os.wait()
used = sum(os.stat(f"/work/part-{n}").st_blocks * 512 for n in range(10))
if used > 65 << 20:
    print("breach".upper(), used)
print("all ended")
