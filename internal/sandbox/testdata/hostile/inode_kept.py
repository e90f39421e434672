# why: the limit of files is passed slowly; the code gets the error in time and loses nothing by it.
# kind: inode
# status: files, error
# after: kept
# next: made > 0
# next-value: True

import os
import time

made = 0
while True:
    os.close(os.open(f"/work/f{made}", os.O_CREAT | os.O_WRONLY))
    made += 1
    if made > 9900:
        time.sleep(0.01)
