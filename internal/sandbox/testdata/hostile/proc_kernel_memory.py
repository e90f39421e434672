# why: images of a kernel's memory and tables are read; whatever the sandbox shows is its own.
# kind: proc
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

for path in (
    "/proc/kcore",
    "/proc/kmsg",
    "/proc/kallsyms",
    "/proc/modules",
    "/proc/slabinfo",
    "/proc/vmallocinfo",
    "/proc/iomem",
    "/proc/keys",
    "/proc/timer_list",
    "/proc/sched_debug",
    "/proc/net/unix",
    "/proc/net/tcp",
    "/proc/net/route",
    "/proc/net/arp",
):
    try:
        with open(path, "rb") as f:
            text = f.read(4096)
    except OSError as e:
        print(path, e.strerror)
        continue
    print(path, text)
    if path in ("/proc/kcore", "/proc/kmsg", "/proc/iomem", "/proc/vmallocinfo") and text:
        print("breach".upper(), path)
print("all tried")
