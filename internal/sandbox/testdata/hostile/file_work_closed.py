# why: /work itself loses its permissions; the chat goes on, and the run after it may fail to write but not to answer.
# kind: file-trick
# status: ok
# stdout-has: tried
# after: kept
# next: 1 + 1
# next-value: 2

import os

for attempt in (lambda: os.chmod("/work", 0), lambda: os.rename("/work", "/gone"), lambda: os.rmdir("/work")):
    try:
        attempt()
    except OSError as e:
        print(e.strerror)
print("tried")
