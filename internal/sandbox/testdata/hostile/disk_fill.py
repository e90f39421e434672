# why: files are written until the quota of /work; the error is an ordinary one and the kernel answers with the disk full.
# kind: disk
# status: error
# error-has: No space left on device
# after: kept
# next: 1 + 1
# next-value: 2

import itertools

block = b"x" * (1 << 20)
for number in itertools.count():
    with open(f"/work/fill-{number}", "wb", buffering=0) as f:
        for _ in range(8):
            f.write(block)
