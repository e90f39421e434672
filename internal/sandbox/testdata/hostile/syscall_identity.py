# why: user, groups and capabilities of root are asked for in every way; the process stays who it is.
# kind: syscall
# status: ok
# stdout-has: still the same
# stdout-not: BREACH
# after: kept

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
before = os.getresuid(), os.getresgid(), os.getgroups()
for attempt in (
    lambda: os.setuid(0),
    lambda: os.seteuid(0),
    lambda: os.setreuid(0, 0),
    lambda: os.setresuid(0, 0, 0),
    lambda: os.setgid(0),
    lambda: os.setresgid(0, 0, 0),
    lambda: os.setgroups([0]),
    lambda: os.initgroups("root", 0),
    lambda: os.chown("/work", 0, 0),
    lambda: os.setresuid(65534, 65534, 65534),
):
    try:
        attempt()
        print("breach".upper())
    except OSError as e:
        print(e.strerror)
header, all_bits = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
print("capset", libc.capset(header, all_bits))
print(
    "ambient",
    libc.prctl(47, 2, 21, 0, 0),
    "keep",
    libc.prctl(8, 1, 0, 0, 0),
    "new privileges",
    libc.prctl(38, 0, 0, 0, 0),
)
status = open("/proc/self/status").read()
rights = [line for line in status.splitlines() if line.startswith(("CapPrm", "CapEff", "CapAmb"))]
if (
    before != (os.getresuid(), os.getresgid(), os.getgroups())
    or 0 in before[0]
    or any(int(line.split()[1], 16) for line in rights)
):
    print("breach".upper(), before, rights)
print("still the same")
