# why: a family in a process namespace of its own has its own pid 1 and ignores all signals; the sweep finds and ends it.
# kind: syscall
# status: ok
# stdout-has: hidden
# after: kept

import subprocess
import sys

code = """
import ctypes, os, signal, time
libc = ctypes.CDLL(None)
libc.unshare(0x10000000)
libc.unshare(0x20000000)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True:
            time.sleep(1)
"""
subprocess.run([sys.executable, "-I", "-c", code])
print("hidden")
