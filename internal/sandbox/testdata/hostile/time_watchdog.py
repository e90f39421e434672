# why: Python's own watchdog ends the process from a thread of its own, without any clean-up; told as a crash with its status.
# kind: time
# status: crashed
# error-has: status 1
# after: any

import faulthandler
import sys
import time

faulthandler.dump_traceback_later(0.5, exit=True, file=sys.__stderr__)
time.sleep(60)
