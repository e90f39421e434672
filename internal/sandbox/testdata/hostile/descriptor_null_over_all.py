# why: /dev/null is put over every descriptor above 2: answers vanish and reads end; the loss must be noticed.
# kind: descriptor
# status: crashed, timeout
# after: any

import os

null = os.open("/dev/null", os.O_RDWR)
for name in os.listdir("/proc/self/fd"):
    if int(name) > 2:
        try:
            os.dup2(null, int(name))
        except OSError:
            pass
