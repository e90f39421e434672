# why: the kernel moves into init's process group and session, a new one, and back, so that signals by group hit or miss wrongly.
# kind: pid1
# status: timeout
# after: kept

import os

for change in (lambda: os.setpgid(0, os.getpgid(1)), lambda: os.setpgid(0, 0), lambda: os.setpgid(1, 0), os.setsid):
    try:
        change()
    except OSError as e:
        print(e.strerror)
while True:
    pass
