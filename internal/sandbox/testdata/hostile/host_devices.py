# why: device nodes are listed and opened; only the harmless ones that the sandbox makes itself may be there, and no disk.
# kind: host-read
# status: ok
# stdout-has: end of devices
# stdout-not: BREACH
# after: kept

import os
import stat

harmless = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
own = {"fuse", "tun"}  # of the sandbox, not of the host: without rights nothing can be done with them
for folder, _, files in os.walk("/dev"):
    for name in files:
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISBLK(mode) or stat.S_ISCHR(mode) and name not in harmless | own and "/dev/pts" not in folder:
            try:
                os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
                print("breach".upper(), path)
            except OSError as e:
                print(path, e.strerror)
for name in ("/dev/fuse", "/dev/net/tun"):
    try:
        got = os.read(os.open(name, os.O_RDWR | os.O_NONBLOCK), 64)
        print("breach".upper(), name, got)
    except OSError as e:
        print(name, e.strerror)
print("end of devices")
