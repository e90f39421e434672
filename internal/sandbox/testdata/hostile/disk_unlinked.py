# why: deleted files that are held open keep their space and have no name; the quota holds and a full /work does not stop the chat.
# kind: disk
# status: error
# error-has: No space left on device
# after: kept

import os

held = []
while True:
    fd = os.open("/work/unseen", os.O_RDWR | os.O_CREAT)
    os.unlink("/work/unseen")
    held.append(fd)
    for _ in range(4):
        os.write(fd, bytes(1 << 20))
