# why: children stop and continue a thousand times, so that init hears of changes which are no ends.
# kind: pid1
# status: ok
# stdout-has: woken
# after: kept

import os
import signal

child = os.fork()
if child == 0:
    while True:
        os.kill(os.getpid(), signal.SIGSTOP)
for _ in range(1000):
    os.waitpid(child, os.WUNTRACED)
    os.kill(child, signal.SIGCONT)
print("woken")
