# why: real-time signals are queued until no more fit while they are blocked; the interrupt of the limit still comes through.
# kind: signal
# status: timeout
# after: any

import os
import signal

number = signal.SIGRTMIN + 5
signal.pthread_sigmask(signal.SIG_BLOCK, {number})
for _ in range(200_000):
    try:
        os.kill(os.getpid(), number)
    except OSError:
        break
while True:
    pass
