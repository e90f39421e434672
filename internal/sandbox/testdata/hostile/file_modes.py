# why: files and folders without any permission, set-user-id, sticky and immutable ones; what cannot be read is told as skipped.
# kind: file-trick
# status: ok
# stdout-has: closed
# after: kept

import os

for mode in (0o000, 0o200, 0o111, 0o4755, 0o6777, 0o1777):
    with open(f"/work/file-{mode:o}", "w") as f:
        f.write("secret")
    os.chmod(f"/work/file-{mode:o}", mode)
    os.mkdir(f"/work/folder-{mode:o}")
    with open(f"/work/folder-{mode:o}/inside", "w") as f:
        f.write("secret")
    os.chmod(f"/work/folder-{mode:o}", mode)
print("closed")
