# why: machine code made at run time executes privileged, foreign and undefined instructions; each ends its own process at most.
# kind: syscall
# status: ok
# stdout-has: all run
# after: kept

import ctypes
import mmap
import os
import platform

codes = {
    "x86_64": {
        "hlt": "f4",
        "cli": "fa",
        "in": "66bad0002cec",
        "out": "66ba8000ee",
        "rdmsr": "0f32",
        "wrmsr": "0f30",
        "lgdt": "0f0110",
        "invd": "0f08",
        "vmcall": "0f01c1",
        "sysenter": "0f34",
        "int 80": "b814000000cd80c3",
        "int 3": "cc",
        "ud2": "0f0b",
        "cr3": "0f20d8",
        "swapgs": "0f01f8",
        "fs base": "f3480faed0c3",
        "syscall": "48c7c0270000000f05c3",
        "far jump": "ff28",
        "stack": "31e4c3",
    },
    "aarch64": {
        "hvc": "020000d4",
        "smc": "030000d4",
        "msr": "00101ed5",
        "mrs": "001038d5",
        "udf": "00000000",
        "brk": "000020d4",
        "eret": "e0039fd6",
    },
}
area = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
address = ctypes.addressof(ctypes.c_char.from_buffer(area))
for name, code in codes.get(platform.machine(), {}).items():
    area[:64] = bytes.fromhex(code).ljust(64, b"\x00")
    child = os.fork()
    if child == 0:
        ctypes.CFUNCTYPE(ctypes.c_long)(address)()
        os._exit(0)
    print(name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print("all run")
