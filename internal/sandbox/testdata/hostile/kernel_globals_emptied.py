# why: the dictionaries of the modules that the kernel's frames belong to are emptied; the kernel is lost or not, the chat lives.
# kind: kernel-module
# status: ok, error, crashed, timeout
# after: any
# next: 1 + 1
# next-value: 2

import sys

frame = sys._getframe().f_back
while frame is not None:
    if frame.f_globals is not globals():
        frame.f_globals.clear()
    frame = frame.f_back
