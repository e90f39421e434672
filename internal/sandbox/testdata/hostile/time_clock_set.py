# why: the clock is set in every way there is; the guest may not change any clock and the time limit does not depend on one.
# kind: time
# status: ok
# stdout-has: same time
# stdout-not: BREACH
# after: kept

import ctypes
import time

libc = ctypes.CDLL(None, use_errno=True)
before = time.time()
timeval = (ctypes.c_long * 2)(0, 0)
timex = (ctypes.c_long * 64)(0x0100, 1)
for name, result in (
    ("settimeofday", libc.settimeofday(timeval, None)),
    ("clock_settime", libc.clock_settime(0, timeval)),
    ("adjtimex", libc.adjtimex(timex)),
    ("stime", libc.syscall(-1)),
):
    print(name, result, ctypes.get_errno())
try:
    time.clock_settime(time.CLOCK_MONOTONIC, 0)
except OSError as e:
    print(e)
print("same time" if abs(time.time() - before) < 60 else "breach".upper())
