# why: standard output is put over the channel, so that the answer would be printed; it is lost, and the run must end all the same.
# kind: descriptor
# status: crashed, timeout
# stdout-has: before
# after: any

import os

print("before", flush=True)
for name in os.listdir("/proc/self/fd"):
    if int(name) > 2:
        try:
            os.dup2(1, int(name))
        except OSError:
            pass
