# why: threads are started until none can be; the error is an ordinary one and the kernel answers with all of them alive.
# kind: thread
# status: error
# error-has: can't start new thread
# after: kept
# next: 1 + 1
# next-value: 2

import threading
import time

while True:
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
