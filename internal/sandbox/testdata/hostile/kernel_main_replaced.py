# why: the module __main__ is replaced by an object whose attributes raise, and the old one loses its names.
# kind: kernel-module
# status: ok, error
# after: any
# next: 1 + 1
# next-value: 2

import sys


class Main:
    def __getattribute__(self, name):
        raise SystemError(name)


sys.modules["__main__"] = Main()
globals().clear()
