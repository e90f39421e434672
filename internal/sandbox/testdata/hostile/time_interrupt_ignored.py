# why: the interrupt is ignored by the code; the kill follows after the grace.
# kind: time
# status: timeout
# after: any

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    pass
