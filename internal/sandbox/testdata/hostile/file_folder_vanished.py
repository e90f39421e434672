# why: the working directory is deleted under the kernel's feet; the next run must still start and have one.
# kind: file-trick
# status: ok
# stdout-has: gone
# after: kept
# next: 1 + 1
# next-value: 2

import os

os.mkdir("/work/short-lived")
os.chdir("/work/short-lived")
os.rmdir("/work/short-lived")
print("gone")
