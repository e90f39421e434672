# why: epoll instances that watch each other, and the channel through thirty of them, must not make a write to it slow or endless.
# kind: descriptor
# status: ok
# stdout-has: nested
# after: kept

import os
import select
import stat

instances = [select.epoll() for _ in range(30)]
for inner, outer in zip(instances, instances[1:]):
    try:
        outer.register(inner.fileno(), select.EPOLLIN | select.EPOLLET)
        inner.register(outer.fileno(), select.EPOLLIN)
    except OSError:
        pass
for name in os.listdir("/proc/self/fd"):
    try:
        if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
            instances[0].register(int(name), select.EPOLLIN | select.EPOLLOUT)
    except OSError:
        pass
for instance in instances:
    instance.poll(0)
print("nested")
