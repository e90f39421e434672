# why: memory grows slowly inside a function; MemoryError unwinds it, and the traceback that is reported must not keep it alive.
# kind: memory
# status: memory
# error-has: MemoryError
# error-has: 256 MiB
# after: kept
# next: before
# next-value: 41
# setup: before = 41

import time


def grow():
    held = []
    while True:
        held.append(bytearray(4 << 20))
        time.sleep(0.02)


grow()
