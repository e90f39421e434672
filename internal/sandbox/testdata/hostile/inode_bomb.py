# why: FIL-13: small files without end; the run ends at the limit of files with an error, the listing stays short and quick.
# kind: inode
# status: files, error, timeout
# after: any
# next: 1 + 1
# next-value: 2

import itertools
import os

for i in itertools.count():
    os.close(os.open(f"/work/f{i}", os.O_CREAT | os.O_WRONLY))
