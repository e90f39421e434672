# why: the error of the limit of files is caught and the loop goes on; the run must still end.
# kind: inode
# status: files, error, timeout, crashed, killed
# after: any

import itertools
import os

for i in itertools.count():
    try:
        os.close(os.open(f"/work/f{i}", os.O_CREAT | os.O_WRONLY))
    except BaseException:
        pass
