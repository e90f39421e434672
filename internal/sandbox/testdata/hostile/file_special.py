# why: FIFOs, sockets and device nodes lie in /work under harmless names; opening one may not hang the collector.
# kind: file-trick
# status: ok
# stdout-has: placed
# stdout-not: BREACH
# after: kept

import os
import socket
import stat

os.mkfifo("/work/report.csv")
os.mkfifo("/work/picture.png", 0o644)
socket.socket(socket.AF_UNIX).bind("/work/answer.json")
os.mknod("/work/plain", stat.S_IFREG | 0o644)
for name, kind, number in (
    ("zero", stat.S_IFCHR, (1, 5)),
    ("memory", stat.S_IFCHR, (1, 1)),
    ("disk", stat.S_IFBLK, (8, 0)),
    ("whiteout", stat.S_IFCHR, (0, 0)),
):
    try:
        os.mknod(f"/work/{name}", kind | 0o666, os.makedev(*number))
        print(name, "made")
        os.close(os.open(f"/work/{name}", os.O_RDONLY))
        print("breach".upper(), name)
    except OSError as e:
        print(name, e.strerror)
print("placed")
