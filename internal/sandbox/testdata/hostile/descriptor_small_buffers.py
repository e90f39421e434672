# why: the channel's buffers are made as small as they get and the value is large; the answer comes or the kernel is replaced.
# kind: descriptor
# status: ok, crashed
# after: any

import os
import socket
import stat

for name in os.listdir("/proc/self/fd"):
    try:
        if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
            with socket.socket(fileno=os.dup(int(name))) as s:
                for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                    s.setsockopt(socket.SOL_SOCKET, option, 1)
    except OSError:
        pass
"x" * 1_000_000
