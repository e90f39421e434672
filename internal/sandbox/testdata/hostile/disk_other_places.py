# why: every folder of the guest is tried; only /work, memory file systems and the process's own entries may be writable.
# kind: disk
# status: ok
# stdout-has: walked
# stdout-not: BREACH
# after: kept

import os

allowed = ("/work", "/tmp", "/var/tmp", "/dev/shm", "/proc")
home = os.path.realpath(os.path.expanduser("~"))
count = 0
for folder, names, _ in os.walk("/"):
    if folder.startswith(allowed) or folder.startswith(home) and home != "/":
        names.clear()
        continue
    count += 1
    probe = os.path.join(folder, ".probe")
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT))
        print("breach".upper(), folder)
    except OSError:
        pass
    if count > 3000:
        break
print("walked")
