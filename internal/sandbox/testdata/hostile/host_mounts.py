# why: the tables of mounts must not tell where on the host the guest's folders are.
# kind: host-read
# status: ok
# stdout-has: end of mounts
# stdout-not: BREACH
# after: kept

for name in ("mounts", "mountinfo", "mountstats"):
    try:
        lines = open(f"/proc/self/{name}").read().splitlines()
    except OSError as e:
        print(name, e.strerror)
        continue
    for line in lines:
        print(line)
        words = line.split()
        source, target = (words[words.index("-") + 2], words[4]) if name == "mountinfo" else (words[0], words[1])
        options = " ".join(words[3:])
        if source.startswith("/") and source != target or "lowerdir=" in options or "upperdir=" in options:
            print("breach".upper(), source)
print("end of mounts")
