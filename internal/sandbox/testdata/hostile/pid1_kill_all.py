# why: EXT-08: the parent and all that may be signalled are killed; init is not among them, at most the kernel is lost.
# kind: pid1
# status: ok, error
# stdout-has: tried
# after: any
# next: 1 + 1
# next-value: 2

import os
import signal

for pid in (os.getppid(), -1, -os.getpgid(os.getppid())):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError as e:
        print(pid, e.strerror)
print("tried")
