# why: THR-02: a thread that is no daemon sleeps for an hour; neither the run nor the end of the chat waits for it.
# kind: thread
# status: ok
# stdout-has: done
# after: kept

import threading
import time

threading.Thread(target=time.sleep, args=(3600,)).start()
print("done")
