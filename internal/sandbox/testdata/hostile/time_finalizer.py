# why: an object's finalizer sleeps for ever; exceptions in it are dropped, so the interrupt alone may end the object but not the run.
# kind: time
# status: timeout, ok
# after: any

import time


class Sleeper:
    def __del__(self):
        time.sleep(999999)


sleeper = Sleeper()
del sleeper
