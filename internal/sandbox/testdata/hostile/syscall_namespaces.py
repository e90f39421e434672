# why: new namespaces are made and those of pid 1 are entered; what needs rights over the guest is refused.
# kind: syscall
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
for name, flag in (
    ("mount", 0x20000),
    ("uts", 0x4000000),
    ("ipc", 0x8000000),
    ("pid", 0x20000000),
    ("net", 0x40000000),
    ("cgroup", 0x2000000),
):
    result = libc.unshare(flag)
    print("unshare", name, "breach".upper() if result == 0 else os.strerror(ctypes.get_errno()))
for name in ("mnt", "uts", "ipc", "pid", "net", "cgroup", "user", "time"):
    try:
        fd = os.open(f"/proc/1/ns/{name}", os.O_RDONLY)
    except OSError as e:
        print("open", name, e.strerror)
        continue
    print("setns", name, "breach".upper() if libc.setns(fd, 0) == 0 else os.strerror(ctypes.get_errno()))
pidfd = libc.syscall(434, 1, 0)
print("setns pidfd", pidfd, "breach".upper() if libc.setns(pidfd, 0x20000) == 0 else os.strerror(ctypes.get_errno()))
print("all tried")
