# why: every descriptor is made non-blocking; the kernel must bear it or be replaced.
# kind: descriptor
# status: ok, crashed
# stdout-has: set
# after: any

import os

for name in os.listdir("/proc/self/fd"):
    try:
        os.set_blocking(int(name), False)
    except OSError:
        pass
print("set")
