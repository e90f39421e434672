# why: single pages with alternating protection make millions of mappings, which cost the sandbox and not the guest.
# kind: memory
# status: memory, timeout, error, killed
# after: any

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
PRIVATE_ANONYMOUS, FAILED = 0x22, ctypes.c_void_p(-1).value
protection = 0
while True:
    protection ^= 1
    if libc.mmap(None, 4096, protection, PRIVATE_ANONYMOUS, -1, 0) == FAILED:
        raise OSError(ctypes.get_errno(), "mmap")
