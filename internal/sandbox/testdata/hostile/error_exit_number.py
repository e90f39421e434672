# why: sys.exit with a number of thousands of digits: the status is told as far as a status can hold one.
# kind: repr
# status: exit, error
# after: kept
# next: 1 + 1
# next-value: 2

import sys

sys.exit(-(1 << 50_000))
