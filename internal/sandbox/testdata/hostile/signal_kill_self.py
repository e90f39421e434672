# why: the kernel kills itself; the result names the signal, output made before is there, and a new kernel answers.
# kind: signal
# status: crashed
# stdout-has: last words
# error-has: SIGKILL
# after: any
# next: 1 + 1
# next-value: 2

import os
import signal

print("last words", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
