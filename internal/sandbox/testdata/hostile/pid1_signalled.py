# why: every signal is sent to pid 1 in every way; a process of the code may send it none but the harmless SIGCONT of its own session.
# kind: pid1
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import ctypes
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
for number in sorted(signal.valid_signals()):
    try:
        os.kill(1, number)
        print("harmless" if number == signal.SIGCONT else "breach".upper(), number)
    except OSError:
        pass
pidfd = libc.syscall(434, 1, 0)
if pidfd >= 0 and libc.syscall(424, pidfd, signal.SIGKILL, None, 0) == 0:
    print("breach".upper(), "pidfd")
information = ctypes.create_string_buffer(128)
if libc.syscall(240 if os.uname().machine == "aarch64" else 297, 1, 1, signal.SIGTERM, information) == 0:
    print("breach".upper(), "queued")
print("all tried")
