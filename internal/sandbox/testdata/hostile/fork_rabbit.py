# why: each child forks the next one and exits, so a list of processes is out of date when it is read; the sweep must still win.
# kind: process
# status: ok, killed
# stdout-has: let loose
# after: any

import os

print("let loose", flush=True)
for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                if os.fork():
                    os._exit(0)
            except OSError:
                pass
