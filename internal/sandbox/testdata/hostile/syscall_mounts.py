# why: everything is mounted, unmounted, moved, chrooted and pivoted with old and new calls; the tree must stay as it is.
# kind: syscall
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import ctypes
import os
import platform

libc = ctypes.CDLL(None, use_errno=True)
pivot_root, chroot = (41, 51) if platform.machine() == "aarch64" else (155, 161)
for folder in ("/work/here", "/work/here/old"):
    os.makedirs(folder, exist_ok=True)


def tell(name, result):
    print(name, "breach".upper() if result >= 0 else os.strerror(ctypes.get_errno()))


for source, kind, flags, data in (
    (b"/", None, 4096, None),
    (b"/", None, 4096 | 16384, None),
    (None, None, 32 | 4096, None),
    (b"none", b"tmpfs", 0, b"size=1t"),
    (b"proc", b"proc", 0, None),
    (b"sysfs", b"sysfs", 0, None),
    (b"none", b"devtmpfs", 0, None),
    (b"none", b"cgroup", 0, b"memory"),
    (b"none", b"9p", 0, b"trans=fd,rfdno=3,wfdno=3"),
    (b"overlay", b"overlay", 0, b"lowerdir=/,upperdir=/work,workdir=/tmp"),
    (b"/dev/sda1", b"ext4", 0, None),
    (b"none", b"fuse", 0, b"fd=3,rootmode=40000,user_id=0,group_id=0"),
    (b"none", b"mqueue", 0, None),
):
    tell(f"mount {kind}", libc.mount(source, b"/work/here", kind, flags, data))
tell("remount", libc.mount(None, b"/opt/python", None, 32 | 4096, None))
tell("move", libc.mount(b"/work", b"/work/here", None, 8192, None))
for target in (b"/", b"/work", b"/proc", b"/tmp", b"/lib"):
    tell(f"umount {target}", libc.umount2(target, 2))
tell("pivot_root", libc.syscall(pivot_root, b"/work/here", b"/work/here/old"))
tell("chroot", libc.syscall(chroot, b"/work/here"))
for name, number, arguments in (
    ("open_tree", 428, (-100, b"/", 1)),
    ("move_mount", 429, (-100, b"/work", -100, b"/work/here", 0)),
    ("fsopen", 430, (b"tmpfs", 0)),
    ("fspick", 433, (-100, b"/", 0)),
    ("mount_setattr", 442, (-100, b"/opt/python", 0, bytes(32), 32)),
):
    tell(name, libc.syscall(number, *arguments))
print("all tried")
