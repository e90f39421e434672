# why: the interrupt was ignored and blocked in the run before; the next one has it again and loses nothing.
# kind: time
# status: timeout
# after: kept
# setup: import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()); setup_ran = 1

while True:
    pass
