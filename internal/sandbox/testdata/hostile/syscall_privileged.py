# why: system calls that change a machine are made one by one: modules, kexec, reboot, swap, bpf, ports; each must be refused.
# kind: syscall
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import ctypes
import os
import platform

libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == "aarch64"
NULL = ctypes.c_void_p(0)
# name: number on x86-64, number on arm64 (None: it has no such call), arguments
calls = {
    "init_module": (175, 105, (NULL, 0, b"")),
    "finit_module": (313, 273, (0, b"", 0)),
    "delete_module": (176, 106, (b"loop", 0)),
    "kexec_load": (246, 104, (0, 0, NULL, 0)),
    "kexec_file_load": (320, 294, (0, 0, 0, NULL, 0)),
    "reboot": (169, 142, (0xFEE1DEAD, 672274793, 0, NULL)),
    "swapon": (167, 224, (b"/work/swap", 0)),
    "swapoff": (168, 225, (b"/work/swap",)),
    "bpf": (321, 280, (0, NULL, 0)),
    "perf_event_open": (298, 241, (NULL, 0, -1, -1, 0)),
    "iopl": (172, None, (3,)),
    "ioperm": (173, None, (0x70, 2, 1)),
    "acct": (163, 89, (b"/work/acct",)),
    "quotactl": (179, 60, (0x80000200, b"/dev/sda", 0, NULL)),
    "syslog": (103, 116, (5, NULL, 0)),
    "vhangup": (153, 58, ()),
    "sethostname": (170, 161, (b"other", 5)),
    "setdomainname": (171, 162, (b"other", 5)),
    "open_by_handle_at": (304, 265, (-100, ctypes.create_string_buffer(32), 0)),
    "fanotify_init": (300, 262, (0, 0)),
    "lookup_dcookie": (212, 18, (0, NULL, 0)),
    "nfsservctl": (180, 42, (0, NULL, NULL)),
    "move_pages": (279, 239, (1, 1, NULL, NULL, NULL, 0)),
    "kcmp": (312, 272, (1, 1, 0, 0, 0)),
    "userfaultfd": (323, 282, (0,)),
    "io_uring_setup": (425, 425, (8, ctypes.create_string_buffer(128))),
    "memfd_secret": (447, 447, (0,)),
    "landlock_create_ruleset": (444, 444, (NULL, 0, 0)),
}
for name, (amd64_number, arm64_number, arguments) in calls.items():
    number = arm64_number if arm else amd64_number
    if number is None:
        continue
    result = libc.syscall(number, *arguments)
    print(name, "breach".upper() if result >= 0 else os.strerror(ctypes.get_errno()))
print("all tried")
