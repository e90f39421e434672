# why: packets of no byte, one byte, just below and far above the largest; none may be taken for the end of the channel.
# kind: protocol
# status: ok
# stdout-has: sent
# after: kept

import os
import socket
import stat

for name in os.listdir("/proc/self/fd"):
    try:
        if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
            continue
        with socket.socket(fileno=os.dup(int(name))) as s:
            for size in (0, 1, 15, 16, 17, 18, 60_016, 60_017, 60_018, 65_535, 65_536, 200_000, 10_000_000):
                try:
                    s.send(bytes(size), socket.MSG_DONTWAIT)
                except OSError as e:
                    print(size, e.strerror)
    except OSError:
        pass
print("sent")
