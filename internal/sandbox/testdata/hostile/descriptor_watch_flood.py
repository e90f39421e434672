# why: THR-12: file watchers are flooded with events that nobody reads; the queue must be bounded.
# kind: descriptor
# status: timeout
# after: kept

import ctypes
import os

libc = ctypes.CDLL(None)
fd = libc.inotify_init()
libc.inotify_add_watch(fd, b"/work", 0xFFF)
while True:
    os.close(os.open("/work/touched", os.O_CREAT | os.O_WRONLY))
    os.rename("/work/touched", "/work/moved")
