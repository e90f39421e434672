# why: FIL-10: an archive names a file outside of its folder; it may be passed on, never unpacked by the server.
# kind: disk
# status: ok
# stdout-has: packed
# after: kept

import zipfile

with zipfile.ZipFile("/work/x.zip", "w") as z:
    z.writestr("../../escape.txt", "x")
    z.writestr("/escape.txt", "x")
print("packed")
