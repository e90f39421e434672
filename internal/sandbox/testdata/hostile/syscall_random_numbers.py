# why: ten thousand system calls with random numbers and arguments; the guest's kernel is what is tested, the host does not notice.
# kind: syscall
# status: ok, error, exit, timeout, memory, crashed, killed
# after: any

import ctypes
import os
import random

libc = ctypes.CDLL(None)
random.seed(7)
unwanted = {34, 35, 60, 61, 62, 200, 230, 231, 234, 247}
child = os.fork()
if child == 0:
    for _ in range(10_000):
        number = random.randrange(460)
        if number not in unwanted:
            libc.syscall(
                number, *(ctypes.c_long(random.choice((0, 1, -1, 3, random.getrandbits(47)))) for _ in range(6))
            )
    os._exit(0)
print(os.waitpid(child, 0))
