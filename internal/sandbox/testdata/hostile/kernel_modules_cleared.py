# why: sys.modules is emptied, __main__ with it; the next run still has a __main__ of its own.
# kind: kernel-module
# status: ok
# after: any
# next: (__name__, 1 + 1)
# next-value: ('__main__', 2)

import sys

sys.modules.clear()
