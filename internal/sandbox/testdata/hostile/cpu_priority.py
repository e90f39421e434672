# why: higher priority, real-time classes and processors outside of the limit are asked for; none of it may be granted on the host.
# kind: cpu
# status: ok
# stdout-has: asked
# after: kept

import os

for ask in (
    lambda: os.nice(-20),
    lambda: os.setpriority(os.PRIO_USER, 0, -20),
    lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
    lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99)),
    lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
    lambda: os.sched_setaffinity(0, range(1024)),
    lambda: os.sched_setaffinity(1, {0}),
):
    try:
        print(ask())
    except (OSError, ValueError) as e:
        print(e)
print("asked")
