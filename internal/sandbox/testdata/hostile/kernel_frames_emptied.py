# why: the kernel's own frames are found on the stack and each of their variables becomes None; the kernel is lost or not, the chat lives.
# kind: kernel-module
# status: ok, error, crashed, timeout
# after: any
# next: 1 + 1
# next-value: 2

import sys


def empty(frame):
    while frame is not None:
        outer = frame.f_back
        for name in list(frame.f_locals):
            try:
                frame.f_locals[name] = None
            except Exception:
                pass
        frame = outer


empty(sys._getframe().f_back)
