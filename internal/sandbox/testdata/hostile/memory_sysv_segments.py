# why: System V segments outlive the processes that made them; ending the kernel alone would not give the memory back.
# kind: memory
# status: memory, killed
# after: any

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
IPC_CREAT, SIZE = 0o1000, 16 << 20
while True:
    segment = libc.shmget(0, SIZE, IPC_CREAT | 0o600)
    if segment < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    ctypes.memset(libc.shmat(segment, None, 0), 1, SIZE)
