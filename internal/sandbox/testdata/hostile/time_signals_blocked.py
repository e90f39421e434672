# why: all signals that can be blocked are, and then the code loops; the kill follows after the grace.
# kind: time
# status: timeout
# after: any

import signal

signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    pass
