# why: MEM-08: orphans and unreaped children pile up; after the run their places in the process table must be free again.
# kind: process
# status: ok
# stdout-has: marched
# after: kept
# next: __import__("subprocess").run(["true"]).returncode
# next-value: 0

import os

for _ in range(300):
    try:
        if os.fork() == 0:
            os._exit(0)
    except OSError:
        break
print("marched")
