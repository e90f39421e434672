# why: in a forked child sys.exit must end that child with its status and an exception with status 1; neither is an answer of the run.
# kind: process
# status: ok
# stdout-has: statuses 3 1
# after: kept

import os
import sys


def child(end):
    pid = os.fork()
    if pid == 0:
        end()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


a, b = child(lambda: sys.exit(3)), child(lambda: [][1])
print("statuses", a, b)
