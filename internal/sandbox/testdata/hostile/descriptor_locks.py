# why: the channel is locked, leased and given other owners and seals; none of it may hinder the other end.
# kind: descriptor
# status: ok
# stdout-has: locked
# after: kept

import fcntl
import os

F_ADD_SEALS, F_SEAL_SEAL = 1033, 1
for name in os.listdir("/proc/self/fd"):
    fd = int(name)
    for attempt in (
        lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
        lambda: fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
        lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK),
        lambda: fcntl.fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL),
        lambda: fcntl.fcntl(fd, fcntl.F_SETOWN, 1),
    ):
        try:
            attempt()
        except OSError:
            pass
print("locked")
