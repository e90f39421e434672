# why: for a second the code reads from every descriptor and takes what was meant for the kernel; this run still has its answer.
# kind: descriptor
# status: ok
# stdout-has: nothing more
# after: any

import os
import select
import stat
import time

watched = []
for name in os.listdir("/proc/self/fd"):
    try:
        if int(name) > 2 and not stat.S_ISDIR(os.fstat(int(name)).st_mode):
            watched.append(int(name))
    except OSError:
        pass
end = time.monotonic() + 1
while time.monotonic() < end:
    for fd in select.select(watched, [], [], 0.1)[0]:
        print(fd, len(os.read(fd, 1 << 16)))
print("nothing more")
