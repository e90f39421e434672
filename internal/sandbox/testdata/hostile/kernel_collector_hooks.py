# why: the garbage collector calls functions that raise, is frozen and set to run at every allocation; answers still come.
# kind: kernel-module
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2

import gc


def strike(*_):
    raise SystemError("collected")


gc.callbacks.append(strike)
gc.freeze()
gc.set_threshold(1, 1, 1)
