# why: the control groups are entered, raised, frozen and given a release agent; none of it may be there to write.
# kind: proc
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import glob
import os

for name in ("cgroup", "cpuset"):
    try:
        print(open(f"/proc/self/{name}").read())
    except OSError as e:
        print(name, e.strerror)
for folder in ["/sys/fs/cgroup", *glob.glob("/sys/fs/cgroup/*/")]:
    for name in (
        "release_agent",
        "notify_on_release",
        "cgroup.procs",
        "tasks",
        "cgroup.kill",
        "cgroup.freeze",
        "memory.max",
        "memory.limit_in_bytes",
        "pids.max",
        "cpu.max",
    ):
        try:
            with open(os.path.join(folder, name), "w") as f:
                f.write("1")
            print("breach".upper(), folder, name)
        except OSError as e:
            print(folder, name, e.strerror)
    try:
        os.mkdir(os.path.join(folder, "made"))
        print("breach".upper(), folder)
    except OSError as e:
        print(folder, e.strerror)
print("all tried")
