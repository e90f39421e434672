# why: write, fsync and sync in an endless loop press on the host's disk; the run ends at its limit as any other.
# kind: disk
# status: timeout
# after: kept

import os

fd = os.open("/work/synced", os.O_RDWR | os.O_CREAT)
while True:
    os.pwrite(fd, os.urandom(4096), 0)
    os.fsync(fd)
    os.sync()
