# why: /tmp and /dev/shm are memory; filling them ends at their size or at the memory limit, and never on the host's disk.
# kind: memory
# status: error, memory, killed
# after: any

import itertools
import os

block = b"x" * (1 << 20)
for number in itertools.count():
    for folder in ("/tmp", "/dev/shm", "/var/tmp", os.path.expanduser("~")):
        if os.path.isdir(folder) and os.access(folder, os.W_OK) and not folder.startswith("/work"):
            with open(f"{folder}/fill-{number}", "wb") as f:
                for _ in range(8):
                    f.write(block)
