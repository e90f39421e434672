# why: the channel is flooded with packets without a token for ever; they are dropped, and time limit and output still count.
# kind: protocol
# status: timeout
# stdout-has: flooding
# after: kept

import os
import stat

channels = []
for name in os.listdir("/proc/self/fd"):
    try:
        if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
            channels.append(int(name))
    except OSError:
        pass
print("flooding")
while True:
    for fd in channels:
        os.write(fd, bytes(60_000))
