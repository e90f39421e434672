# why: a timer strikes as often as it can and its handler raises, also while the kernel makes its answer.
# kind: time
# status: ok, error, crashed
# after: any

import signal


def strike(*_):
    raise RuntimeError("struck")


signal.signal(signal.SIGALRM, strike)
signal.setitimer(signal.ITIMER_REAL, 0.000001, 0.000001)
