# why: two thousand folders inside of each other, longer than any path may be; the walk has a bounded depth.
# kind: file-trick
# status: ok
# stdout-has: deep
# after: kept
# next: 1 + 1
# next-value: 2

import os

for _ in range(2000):
    os.mkdir("d")
    os.chdir("d")
with open("bottom", "w") as f:
    f.write("x")
print("deep")
