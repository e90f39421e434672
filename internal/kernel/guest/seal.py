"""No user namespaces for code of a chat.

In a user namespace of its own any process is root with all capabilities, over
nothing that is not its own; but so it reaches parts of gVisor's kernel (mounts,
network devices, packet filters) that no ordinary user does. The kernel refuses
such a namespace to a process whose root is not that of its mount namespace
(clone(2): EPERM "in a chroot environment"). An empty folder that is mounted over
the root makes this true of every process there is and will be: they keep the
root that they have, and the namespace's is the empty one. This costs no system
call anything, which a filter (seccomp) does: gVisor computes its decisions anew
for every thread and process that begins.

Used between fork and exec, so that what is imported here costs nothing afterwards.
"""

import _ctypes

# Of <linux/mount.h>.
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC = 1, 2, 4, 8


def seal() -> None:
    """Mount over the root of this mount namespace. Needs CAP_SYS_ADMIN. Raises OSError."""
    mount = _ctypes.dlsym(_ctypes.dlopen(None, 0), "mount")
    flags = _READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_EXEC
    if _ctypes.call_function(mount, (b"none", b"/", b"tmpfs", flags, b"size=4k")) != 0:
        raise OSError("the root of the guest could not be sealed")
