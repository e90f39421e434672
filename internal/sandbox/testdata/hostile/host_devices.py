# why: device nodes are listed and opened; only the harmless ones of every guest may be there.
# kind: host-read
# status: ok
# stdout-has: end of devices
# stdout-not: BREACH
# after: kept

import os
import stat

harmless = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
for folder, _, files in os.walk("/dev"):
    for name in files:
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISBLK(mode) or stat.S_ISCHR(mode) and name not in harmless and "/dev/pts" not in folder:
            try:
                os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
                print("breach".upper(), path)
            except OSError as e:
                print(path, e.strerror)
print("end of devices")
