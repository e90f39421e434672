# why: FIL-13: two hundred thousand small files; the run ends at the limit of files with an error, the listing stays short and quick.
# kind: inode
# status: error
# error-has: files in /work
# after: kept
# next: 1 + 1
# next-value: 2

import itertools

for i in itertools.count():
    open(f"/work/f{i}", "w").close()
