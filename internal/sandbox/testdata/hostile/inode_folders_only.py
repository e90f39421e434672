# why: no file at all, only folders, fifty to a level; they count as files do.
# kind: inode
# status: error
# error-has: files in /work
# after: kept

import itertools
import os

for i in itertools.count():
    os.makedirs(f"/work/{i // 2500 % 50}/{i // 50 % 50}/{i % 50}-{i // 125000}")
