# why: the interpreter ends hard with status 0, which is no success of the run.
# kind: signal
# status: crashed
# error-has: status 0
# after: any

import os

os._exit(0)
