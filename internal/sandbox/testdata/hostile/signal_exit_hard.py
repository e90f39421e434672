# why: EXT-06: the interpreter ends without a word and with a status; the next call starts a new one and does not wait.
# kind: signal
# status: crashed
# error-has: status 3
# after: any
# next: 1 + 1
# next-value: 2

import os

os._exit(3)
