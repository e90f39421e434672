# why: the three standard streams are closed by number; the value still comes, and the next run has an output again or a new kernel.
# kind: descriptor
# status: ok
# stdout-has: last words
# after: any
# next: 1 + 1
# next-value: 2

import os

print("last words", flush=True)
for fd in (0, 1, 2):
    os.close(fd)
