# why: empty files in /tmp take no page of memory but a record each in the sandbox; their number must end at a limit or at the time-out.
# kind: inode
# status: files, error, memory, timeout, killed
# after: any

import itertools
import os

os.mkdir("/tmp/many")
for i in itertools.count():
    os.close(os.open(f"/tmp/many/{i}", os.O_CREAT | os.O_WRONLY))
