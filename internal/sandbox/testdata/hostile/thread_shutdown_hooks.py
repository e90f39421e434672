# why: hooks for the interpreter's end (atexit, threading) loop for ever; ending the kernel and the chat must not run into them.
# kind: thread
# status: ok
# stdout-has: armed
# after: kept

import atexit
import threading
import time


def forever():
    while True:
        time.sleep(1)


atexit.register(forever)
threading._register_atexit(forever)
print("armed")
