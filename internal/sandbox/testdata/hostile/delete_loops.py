# why: the value's __del__ never ends and runs when the next run takes its place, or at once; the chat must stay usable.
# kind: repr
# status: ok, timeout
# after: any
# next: 1 + 1
# next-value: 2

import time

born = time.monotonic()


class D:
    def __del__(self):
        while time.monotonic() - born < 4:
            pass

    def __repr__(self):
        return "d"


D()
