# why: ISO-03: traces of another chat are sought in shared memory, queues, keyrings, abstract sockets and process lists.
# kind: host-read
# status: ok
# stdout-has: alone
# stdout-not: BREACH
# after: kept

import os

for table in ("shm", "sem", "msg"):
    try:
        rows = open(f"/proc/sysvipc/{table}").read().splitlines()[1:]
    except OSError as e:
        print(table, e.strerror)
        continue
    if rows:
        print("breach".upper(), table, rows)
for folder in ("/dev/shm", "/dev/mqueue", "/tmp", "/work"):
    if os.path.isdir(folder):
        print(folder, os.listdir(folder))
pids = sorted(int(p) for p in os.listdir("/proc") if p.isdigit())
print(pids)
if len(pids) > 4:
    print("breach".upper(), pids)
print("alone")
