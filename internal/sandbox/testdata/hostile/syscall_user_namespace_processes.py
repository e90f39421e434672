# why: capabilities inside of a user namespace must not lift the process limit of the guest.
# kind: syscall
# status: ok
# stdout-has: counted
# stdout-not: BREACH
# after: kept

import os
import subprocess
import sys
import time

code = """
import ctypes, os, resource, sys, time
uid = os.getuid()
resource.setrlimit(resource.RLIMIT_NPROC, (20, 20))
ctypes.CDLL(None).unshare(0x10000000)
try:
    with open("/proc/self/uid_map", "w") as f:
        f.write(f"0 {uid} 1")
except OSError:
    pass
for _ in range(40):
    try:
        if os.fork() == 0:
            os.write(int(sys.argv[1]), b".")
            time.sleep(60)
            os._exit(0)
    except OSError:
        break
"""
r, w = os.pipe()
subprocess.run([sys.executable, "-I", "-c", code, str(w)], pass_fds=[w])
time.sleep(0.2)
os.write(w, b".")
count = len(os.read(r, 4096))
print("counted" if count <= 21 else "breach".upper(), count)
