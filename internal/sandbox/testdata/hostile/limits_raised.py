# why: each resource limit is raised, for the kernel, a child and pid 1; none may become larger than it was.
# kind: process
# status: ok
# stdout-not: BREACH
# stdout-has: all tried
# after: kept

import os
import resource

INFINITE = resource.RLIM_INFINITY
for name in sorted(n for n in dir(resource) if n.startswith("RLIMIT_")):
    which = getattr(resource, name)
    for pid in (0, 1):
        try:
            _, hard = resource.prlimit(pid or os.getpid(), which)
        except OSError as e:
            print(name, pid, e)
            continue
        if hard == INFINITE:
            continue
        for limits in ((INFINITE, INFINITE), (hard, INFINITE), (hard + 1, hard + 1)):
            try:
                resource.prlimit(pid or os.getpid(), which, limits)
                print("breach".upper(), name, pid, limits)
            except (OSError, ValueError) as e:
                print(name, pid, e)
print("all tried")
