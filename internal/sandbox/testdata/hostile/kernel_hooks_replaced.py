# why: the hooks for exceptions, display and warnings end the process when called; the kernel does not call them for its own work.
# kind: kernel-module
# status: error
# error-has: ZeroDivisionError
# after: kept
# next: 1 + 1
# next-value: 2

import os
import sys
import warnings


def end(*_, **__):
    os._exit(9)


sys.excepthook = sys.unraisablehook = sys.displayhook = sys.breakpointhook = end
warnings.showwarning = warnings.formatwarning = end
1 / 0
