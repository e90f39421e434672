# why: init is traced and its memory read and written by calls made for it; only processes of the code may be.
# kind: syscall
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 16, 0x4206, 0x4207
buffer = ctypes.create_string_buffer(64)
local = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 64)


def tell(name, result):
    print(name, "breach".upper() if result >= 0 else os.strerror(ctypes.get_errno()))


for request in (PTRACE_ATTACH, PTRACE_SEIZE, PTRACE_INTERRUPT):
    tell(f"ptrace {request:#x}", libc.ptrace(request, 1, None, None))
for address in (0x400000, ctypes.addressof(buffer), ctypes.cast(libc.free, ctypes.c_void_p).value):
    remote = (ctypes.c_size_t * 2)(address, 64)
    tell("read", libc.process_vm_readv(1, local, 1, remote, 1, 0))
    tell("write", libc.process_vm_writev(1, local, 1, remote, 1, 0))
pidfd = libc.syscall(434, 1, 0)
print("pidfd_open", pidfd)
for number in range(4):
    tell(f"pidfd_getfd {number}", libc.syscall(438, pidfd, number, 0))
tell("process_madvise", libc.syscall(440, pidfd, local, 1, 21, 0))
tell("process_mrelease", libc.syscall(448, pidfd, 0))
print("all tried")
