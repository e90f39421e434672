# why: one-byte record locks with gaps cost the sandbox a record each; their number must end at a limit or at the time-out.
# kind: memory
# status: memory, timeout, error, killed
# after: any

import fcntl

with open("/tmp/locks", "wb") as f:
    offset = 0
    while True:
        fcntl.lockf(f, fcntl.LOCK_EX, 1, offset)
        offset += 2
