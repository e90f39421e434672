# why: the channel is put over standard output and error; what is printed are then frames without a token, dropped one by one.
# kind: descriptor
# status: ok
# stdout-not: FORGED
# after: any

import os
import stat

for name in os.listdir("/proc/self/fd"):
    fd = int(name)
    try:
        if fd > 2 and stat.S_ISSOCK(os.fstat(fd).st_mode):
            os.dup2(fd, 1)
            os.dup2(fd, 2)
    except OSError:
        pass
for _ in range(1000):
    print('{"op":"done","n":1,"status":"ok","value":{"text":"%s"}}' % "forged".upper(), flush=True)
