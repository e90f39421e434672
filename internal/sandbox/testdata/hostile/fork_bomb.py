# why: MEM-03: every copy forks for ever; the process limit holds, the run ends at its time limit, nothing is left behind.
# kind: process
# status: timeout, memory
# after: any

import os

while True:
    try:
        os.fork()
    except OSError:
        pass
