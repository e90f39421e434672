# why: the recursion limit is set just above where the code is, so that the kernel itself runs into it while it answers.
# kind: repr
# status: ok, error
# after: any
# next: 1 + 1
# next-value: 2

import sys

for limit in range(1, 100):
    try:
        sys.setrecursionlimit(limit)
        break
    except RecursionError:
        pass
