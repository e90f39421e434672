# why: the kernel's own frames on the stack get a trace function that raises as soon as they go on.
# kind: kernel-module
# status: ok, error, exit, crashed
# after: any
# next: 1 + 1
# next-value: 2

import sys


def strike(*_):
    raise SystemExit("traced")


frame = sys._getframe().f_back
while frame is not None:
    frame.f_trace = strike
    frame.f_trace_opcodes = True
    frame = frame.f_back
sys.settrace(strike)
