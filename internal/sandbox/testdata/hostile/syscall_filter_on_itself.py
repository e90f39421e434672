# why: the kernel puts itself under the strict system call filter, in which only read, write and exit are left, and is killed.
# kind: syscall
# status: crashed
# after: any

import ctypes
import os

ctypes.CDLL(None).prctl(22, 1, 0, 0, 0)
os.getppid()
