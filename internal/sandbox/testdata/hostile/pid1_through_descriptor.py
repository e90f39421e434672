# why: the owner of a socket's signals is set to pid 1 with SIGKILL as signal, which the system then sends when data comes.
# kind: pid1
# status: ok
# stdout-has: sent
# after: kept

import fcntl
import os
import signal
import socket
import time

F_SETSIG, F_SETOWN_EX = 10, 15
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
    a, b = socket.socketpair()
    for owner in (1, -1, -os.getpgid(1)):
        try:
            fcntl.fcntl(a, F_SETSIG, number)
            fcntl.fcntl(a, fcntl.F_SETOWN, owner)
            if owner == 1:
                fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
                b.send(b"x")
        except OSError as e:
            print(e.strerror)
    a.close()
time.sleep(0.2)
print("sent")
