# why: the value's __repr__ ends the process while the kernel makes its answer; that is a crash as any other.
# kind: repr
# status: crashed
# error-has: status 5
# after: any
# next: 1 + 1
# next-value: 2

import os


class R:
    def __repr__(self):
        os._exit(5)


R()
