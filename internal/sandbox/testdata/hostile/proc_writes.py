# why: every file below /proc and /sys is opened for writing; none that is not the code's own may be writable.
# kind: proc
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import os

own = ("/proc/self", "/proc/thread-self", f"/proc/{os.getpid()}")
tried = 0
for top in ("/proc", "/sys"):
    for folder, names, files in os.walk(top):
        if folder == "/proc":
            names[:] = [n for n in names if not n.isdigit() or n == "1"]
        if folder.startswith(own):
            names.clear()
            continue
        for name in files:
            path = os.path.join(folder, name)
            tried += 1
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                print("breach".upper(), path)
            except OSError:
                pass
print("all tried", tried > 20)
