# why: EXT-07: a crash in C is told by the name of its signal, with the output so far, and not as an error of the server.
# kind: signal
# status: crashed
# stdout-has: before
# error-has: SIGSEGV
# after: any

import ctypes

print("before", flush=True)
ctypes.string_at(0)
