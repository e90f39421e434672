# why: FIL-08: links in /work point at host-like paths and at the root; they are named, never followed, neither inside nor outside.
# kind: file-trick
# status: ok
# stdout-has: linked
# after: kept

import os

for name, target in {
    "out.csv": "/etc/passwd",
    "rootdir": "/",
    "up": "../../../../../../etc/shadow",
    "init": "/proc/1/environ",
    "self": "/proc/self/fd/1",
    "nowhere": "/does/not/exist",
    "loop-a": "loop-b",
    "loop-b": "loop-a",
    "here": ".",
    "long": "./" * 2000 + "x",
    "device": "/dev/zero",
    "newline": "a\nb",
}.items():
    os.symlink(target, f"/work/{name}")
print("linked")
