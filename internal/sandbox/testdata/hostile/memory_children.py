# why: thirty children hold 20 MiB each, all far below a limit per process; their sum is what counts.
# kind: memory
# status: memory
# error-has: 256 MiB
# after: any

import os
import time

for _ in range(30):
    if os.fork() == 0:
        held = bytearray(20 << 20)
        time.sleep(60)
        os._exit(0)
os.wait()
