# why: a thousand files change places in a ring while the run ends; each is listed once, under one of its names, or not at all.
# kind: file-trick
# status: ok
# stdout-has: dancing
# after: kept

import os
import threading
import time

end = time.monotonic() + 2
for number in range(1000):
    with open(f"/work/{number}", "w") as f:
        f.write(str(number))


def dance():
    while time.monotonic() < end:
        for number in range(1000):
            os.rename(f"/work/{number}", f"/work/{(number + 1) % 1000}-")
        for number in range(1000):
            os.rename(f"/work/{number}-", f"/work/{number}")


threading.Thread(target=dance, daemon=True).start()
print("dancing")
