# why: the value's __repr__ forks, so that two kernels are about to answer; one of them must not.
# kind: repr
# status: ok
# stdout-not: SECOND
# after: kept
# next: 40 + 2
# next-value: 42

import os


class R:
    def __repr__(self):
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
        return "first" if pid else "second".upper()


R()
