# why: thirty folders each with thirty links to the folder above: who follows them walks for ever.
# kind: file-trick
# status: ok
# stdout-has: tangled
# after: kept

import os

folder = "/work"
for depth in range(30):
    folder = f"{folder}/d"
    os.mkdir(folder)
    for number in range(30):
        os.symlink("..", f"{folder}/up-{number}")
print("tangled")
