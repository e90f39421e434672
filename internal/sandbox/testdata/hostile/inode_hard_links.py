# why: names without files of their own: hard links to one file until a limit; they count as files do.
# kind: inode
# status: files, error, timeout
# after: any

import itertools
import os

open("/work/one", "w").close()
for i in itertools.count():
    os.link("/work/one", f"/work/link-{i}")
