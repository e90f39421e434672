# why: files from before the epoch and from the year 2486, with the same time before and after a change; the change is still found.
# kind: file-trick
# status: ok
# stdout-has: dated
# after: kept

import os

for number, when in enumerate((0, -1, -(1 << 40), 1 << 34, 1 << 62)):
    path = f"/work/dated-{number}"
    with open(path, "w") as f:
        f.write("x")
    try:
        os.utime(path, ns=(when * 10**9 % (1 << 63), when * 10**9 % (1 << 63)))
    except (OSError, OverflowError) as e:
        print(e)
print("dated")
