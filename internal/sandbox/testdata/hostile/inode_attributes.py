# why: extended attributes are kept in the sandbox's own heap, where no quota of blocks sees them; they are refused or count as memory.
# kind: inode
# status: ok, memory, killed
# after: any

import itertools
import os

with open("/work/attributed", "w"):
    pass
for i in itertools.count():
    try:
        os.setxattr("/work/attributed", f"user.{i}", bytes(60_000))
    except OSError as e:
        print(i, e)
        break
