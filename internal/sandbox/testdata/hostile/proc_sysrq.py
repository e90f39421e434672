# why: the classic ways to stop or configure a host through /proc are tried by name, existing or not.
# kind: proc
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

for path, text in (
    ("/proc/sysrq-trigger", "c"),
    ("/proc/sys/kernel/sysrq", "1"),
    ("/proc/sys/kernel/core_pattern", "|/work/run"),
    ("/proc/sys/kernel/modprobe", "/work/run"),
    ("/proc/sys/kernel/hostname", "other"),
    ("/proc/sys/kernel/yama/ptrace_scope", "0"),
    ("/proc/sys/vm/drop_caches", "3"),
    ("/proc/sys/vm/overcommit_memory", "1"),
    ("/proc/sys/net/ipv4/ip_forward", "1"),
    ("/proc/sys/fs/binfmt_misc/register", ":x:M::\\x7f::/work/run:"),
    ("/sys/kernel/uevent_helper", "/work/run"),
    ("/sys/power/state", "mem"),
    ("/proc/1/oom_score_adj", "1000"),
    ("/proc/acpi/wakeup", "x"),
):
    try:
        with open(path, "w") as f:
            f.write(text)
        print("breach".upper(), path)
    except OSError as e:
        print(path, e.strerror)
print("all tried")
