# why: all sockets are shut down in both directions; the kernel can neither hear nor answer and is replaced.
# kind: descriptor
# status: crashed
# after: any

import os
import socket
import stat

for name in os.listdir("/proc/self/fd"):
    try:
        if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
            socket.socket(fileno=os.dup(int(name))).shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
