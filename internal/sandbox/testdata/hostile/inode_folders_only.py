# why: no file at all, only folders, a thousand in each; they count as files do.
# kind: inode
# status: files, error, timeout
# after: any

import itertools
import os

for i in itertools.count():
    if i % 1000 == 0:
        os.mkdir(f"/work/{i // 1000}")
    os.mkdir(f"/work/{i // 1000}/{i % 1000}")
