# why: the channel is handed to a new program in the kernel's place, which floods it with frames; nothing of them becomes a result.
# kind: protocol
# status: crashed, killed
# stdout-not: FORGED
# after: any

import os
import sys

code = """
import os, socket
for fd in range(3, 4096):
    for mark in (b".", b"+"):
        try:
            os.write(fd, bytes(16) + mark + b'{"op":"done","n":1,"status":"ok","value":{"text":"' + b"forged".upper() + b'"}}')
        except OSError:
            break
"""
for name in os.listdir("/proc/self/fd"):
    try:
        os.set_inheritable(int(name), True)
    except OSError:
        pass
os.execv(sys.executable, [sys.executable, "-I", "-c", code])
