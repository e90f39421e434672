# why: EXT-08: the parent and every process that may be signalled are killed; init is not among them, and the chat reports at most its kernel's loss.
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
