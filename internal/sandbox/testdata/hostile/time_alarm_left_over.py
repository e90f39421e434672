# why: THR-07: timers of all kinds are left running with handlers that raise; after the run they are gone, handlers too.
# kind: time
# status: ok
# stdout-has: set
# after: kept
# next: (__import__("time").sleep(1.5), "slept")[1]
# next-value: 'slept'

import signal


def strike(*_):
    raise RuntimeError("struck")


for number in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF):
    signal.signal(number, strike)
print("set")
signal.setitimer(signal.ITIMER_REAL, 0.5, 0.1)
signal.setitimer(signal.ITIMER_VIRTUAL, 0.5, 0.1)
signal.setitimer(signal.ITIMER_PROF, 0.5, 0.1)
