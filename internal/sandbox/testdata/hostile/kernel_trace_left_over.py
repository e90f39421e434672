# why: trace and profile functions are left behind that raise in every frame but the code's own; that may not cost the variables.
# kind: kernel-module
# status: ok, error
# after: kept
# next: 1 + 1
# next-value: 2

import sys
import threading

here = sys._getframe().f_code.co_filename


def strike(frame, *_):
    if frame.f_code.co_filename != here:
        raise RuntimeError("traced")


threading.settrace(strike)
threading.setprofile(strike)
sys.setprofile(strike)
sys.settrace(strike)
