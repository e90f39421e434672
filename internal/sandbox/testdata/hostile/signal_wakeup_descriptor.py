# why: Python writes the number of each signal to a descriptor that the code names: the channel; such packets have no token.
# kind: signal
# status: ok, error, crashed
# after: any
# next: 1 + 1
# next-value: 2

import os
import signal
import stat

for name in os.listdir("/proc/self/fd"):
    try:
        if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
            os.set_blocking(int(name), False)
            signal.set_wakeup_fd(int(name), warn_on_full_buffer=False)
    except OSError:
        pass
signal.signal(signal.SIGUSR1, lambda *_: None)
for _ in range(1000):
    os.kill(os.getpid(), signal.SIGUSR1)
