# why: a filter makes every later call of the kernel fail with the same error; it cannot answer any more and is replaced.
# kind: syscall
# status: crashed, timeout
# after: any

import ctypes

PR_SET_SECCOMP, FILTER, ERRNO_EPERM, RETURN = 22, 2, 0x00050001, 0x06
instruction = ctypes.create_string_buffer(
    RETURN.to_bytes(2, "little") + bytes(2) + ERRNO_EPERM.to_bytes(4, "little"), 8
)
program = (ctypes.c_uint64 * 2)(1, ctypes.addressof(instruction))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
libc.prctl(PR_SET_SECCOMP, FILTER, program, 0, 0)
