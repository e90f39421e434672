# why: every descriptor is closed, the kernel's channel too; that is a crash of the kernel, noticed at once and not at the time limit.
# kind: descriptor
# status: crashed, timeout
# after: any
# next: 1 + 1
# next-value: 2

import os
import time

os.closerange(0, 65536)
time.sleep(0.1)
