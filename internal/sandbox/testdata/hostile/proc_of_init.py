# why: what /proc shows of pid 1 is opened: memory, descriptors, root, namespaces; a process of the code reaches none of it.
# kind: proc
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import os

for name in (
    "mem",
    "environ",
    "auxv",
    "maps",
    "smaps",
    "pagemap",
    "stack",
    "syscall",
    "personality",
    "clear_refs",
    "oom_score_adj",
    "comm",
):
    for mode in (os.O_RDONLY, os.O_RDWR):
        try:
            fd = os.open(f"/proc/1/{name}", mode)
        except OSError as e:
            print(name, mode, e.strerror)
            continue
        try:
            if mode == os.O_RDWR or name in ("mem", "environ"):
                got = os.read(fd, 64)
                print("breach".upper() if got else "empty", name, mode, got)
        except OSError as e:
            print(name, mode, "read:", e.strerror)
        os.close(fd)
for path in ("root/etc/hostname", "cwd/.", "exe", "fd/0", "fd/1", "fd/3", "map_files/.", "task/1/mem", "task/1/fd/0"):
    try:
        os.close(os.open(f"/proc/1/{path}", os.O_RDONLY | os.O_NONBLOCK))
        print("opened", path)
        if path.startswith(("fd/", "task/")):
            print("breach".upper(), path)
    except OSError as e:
        print(path, e.strerror)
print("all tried")
