# why: eight children make files in folders of their own; the limit counts all of /work.
# kind: inode
# status: files, error, memory, timeout
# after: any

import itertools
import os

for child in range(8):
    if os.fork() == 0:
        os.mkdir(f"/work/{child}")
        for i in itertools.count():
            os.close(os.open(f"/work/{child}/{i}", os.O_CREAT | os.O_WRONLY))
os.wait()
