# why: sys.exit gets an object whose text never ends, after one whose text raises and a number that fits nowhere.
# kind: repr
# status: timeout, exit
# after: any
# next: 1 + 1
# next-value: 2

import sys


class Code(int):
    def __str__(self):
        while True:
            pass

    __repr__ = __index__ = __int__ = __bool__ = __eq__ = __str__
    __hash__ = None


sys.exit(Code(1 << 80))
