# why: the environments of all visible processes are read; nothing of the server's own environment is in them.
# kind: host-read
# status: ok
# stdout-has: end of environment
# stdout-not: RUNPYTHON_
# stdout-not: _KEY=
# stdout-not: TOKEN=
# stdout-not: SSH_
# after: kept

import os

for pid in ["self", *sorted(filter(str.isdigit, os.listdir("/proc")), key=int)]:
    for name in ("environ", "cmdline"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as f:
                print(pid, name, f.read(8192))
        except OSError as e:
            print(pid, name, e.strerror)
print(dict(os.environ))
print("end of environment")
