# why: the whole tree is walked as far as it can be read; there are no other people's homes, no other guest and no server data in it.
# kind: host-read
# status: ok
# stdout-has: end of walk
# stdout-not: BREACH
# after: kept

import os

expected = set(
    "bin boot dev env etc home lib lib32 lib64 libx32 opt proc python root run runpython sbin sys tmp usr var work".split()
)
for name in sorted(os.listdir("/")):
    print(name, os.lstat("/" + name).st_mode)
    if name not in expected:
        print("breach".upper(), name)
for folder in ("/home", "/root", "/srv", "/mnt", "/media", "/boot", "/var/lib", "/var/log", "/run"):
    try:
        inside = os.listdir(folder)
    except OSError as e:
        print(folder, e.strerror)
        continue
    print(folder, inside)
print("end of walk")
