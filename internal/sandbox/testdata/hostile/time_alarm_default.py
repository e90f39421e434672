# why: an alarm without a handler ends the process; left over from a run it may not end the kernel in the next one.
# kind: time
# status: ok
# stdout-has: set
# after: kept
# next: (__import__("time").sleep(1.5), "slept")[1]
# next-value: 'slept'

import signal

signal.alarm(1)
print("set")
