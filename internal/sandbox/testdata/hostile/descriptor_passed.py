# why: descriptors are sent along the channel (SCM_RIGHTS) until its reader has none of its own left, if it takes them.
# kind: descriptor
# status: ok
# stdout-has: sent
# after: kept
# next: __import__("subprocess").run(["true"]).returncode
# next-value: 0

import array
import os
import socket
import stat

rights = array.array("i", [0] * 100)
for name in os.listdir("/proc/self/fd"):
    try:
        if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
            continue
        with socket.socket(fileno=os.dup(int(name))) as s:
            for _ in range(200):
                s.sendmsg([b"rubbish"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    except OSError as e:
        print(e)
print("sent")
