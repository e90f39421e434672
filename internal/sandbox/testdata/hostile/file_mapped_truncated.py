# why: a file is mapped, cut short and then touched through the mapping: the signal is a crash of the kernel and nothing else.
# kind: file-trick
# status: crashed
# error-has: SIGBUS
# after: any

import mmap
import os

fd = os.open("/work/mapped", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 1 << 20)
area = mmap.mmap(fd, 1 << 20)
os.ftruncate(fd, 0)
area[1 << 19]
