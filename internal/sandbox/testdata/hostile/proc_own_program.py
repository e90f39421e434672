# why: the program file that runs, and its C library, are opened for writing through /proc; both are shared with every other guest.
# kind: proc
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import os

paths = {"/proc/self/exe", os.path.realpath("/proc/self/exe"), "/proc/1/exe"}
for line in open("/proc/self/maps"):
    name = line.rstrip("\n").partition("/")
    if name[1]:
        paths.add("/" + name[2])
for path in sorted(paths):
    for flags in (os.O_WRONLY, os.O_RDWR | os.O_APPEND, os.O_WRONLY | os.O_TRUNC):
        try:
            os.close(os.open(path, flags))
            print("breach".upper(), path)
        except OSError as e:
            print(path, e.strerror)
    for change in (
        lambda: os.chmod(path, 0o777),
        lambda: os.unlink(path),
        lambda: os.rename(path, path + ".old"),
        lambda: os.utime(path),
    ):
        try:
            change()
            print("breach".upper(), path)
        except OSError as e:
            print(path, e.strerror)
print("all tried")
