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

The first child of init does it, between fork and exec; init itself gives up what
it takes.
"""

import _ctypes
import sys

# Of <linux/mount.h>.
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC = 1, 2, 4, 8
# Of <linux/capability.h>: CAP_DAC_READ_SEARCH, CAP_KILL, CAP_SETGID, CAP_SETUID.
_VERSION_3, _KEPT = 0x20080522, (2, 5, 6, 7)


def seal() -> None:
    """Mount over the root of this mount namespace. Needs CAP_SYS_ADMIN. Raises OSError."""
    mount = _ctypes.dlsym(_ctypes.dlopen(None, 0), "mount")
    flags = _READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_EXEC
    if _ctypes.call_function(mount, (b"none", b"/", b"tmpfs", flags, b"size=4k")) != 0:
        raise OSError("the root of the guest could not be sealed")


def give_up() -> None:
    """Leave this process, for good, the capabilities that init needs later, and no other. Raises OSError."""
    capset = _ctypes.dlsym(_ctypes.dlopen(None, 0), "capset")
    low = sum(1 << capability for capability in _KEPT).to_bytes(4, sys.byteorder)
    none = bytes(4)
    sets = low + low + none + none * 3  # effective, permitted, inheritable; the same of numbers above 31
    if _ctypes.call_function(capset, (_VERSION_3.to_bytes(4, sys.byteorder) + none, sets)) != 0:
        raise OSError("init could not give up its capabilities")
