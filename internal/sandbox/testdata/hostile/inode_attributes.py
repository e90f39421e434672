# why: extended attributes carry data that no quota of blocks sees; they must be refused, limited or counted.
# kind: inode
# status: ok, error, timeout, memory, killed
# after: any

import os

with open("/work/attributed", "w"):
    pass
for i in range(100_000):
    try:
        os.setxattr("/work/attributed", f"user.{i}", bytes(60_000))
    except OSError as e:
        print(i, e)
        break
