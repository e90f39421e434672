# why: finalizers catch the interrupt and make a new object with a finalizer each; the kill ends the row.
# kind: time
# status: timeout
# after: any

import time


class Heir:
    def __del__(self):
        while True:
            try:
                time.sleep(1)
            except BaseException:
                Heir()


Heir()
None
