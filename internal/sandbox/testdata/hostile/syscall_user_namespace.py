# why: in a user namespace of its own a program would be root with all capabilities; no call makes one, and nothing else is broken.
# kind: syscall
# status: ok
# stdout-has: no namespace
# stdout-has: root ended
# stdout-not: BREACH
# after: kept

import subprocess
import sys

code = """
import ctypes, os, resource, signal, sys

libc = ctypes.CDLL(None, use_errno=True)
uid, gid = os.getuid(), os.getgid()


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def attempt(name, do):
    try:
        do()
        print("breach".upper(), name)
    except (OSError, ValueError) as e:
        print(name, e)


def mapped():
    check(libc.unshare(0x10000000))
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as f:
            f.write(text)
    check(libc.unshare(0x20000))


try:
    mapped()
    print("breach".upper(), "unshare")
except OSError as e:
    print("no namespace:", e)
for name, number, arguments in (
    ("clone", {"x86_64": 56, "aarch64": 220}[os.uname().machine], (0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)),
    ("clone3", 435, ((ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, signal.SIGCHLD), 64)),
):
    child = libc.syscall(number, *arguments)
    if child == 0:
        os._exit(0)
    print("breach".upper() if child > 0 else "no namespace by", name)
print("user", os.getuid())
attempt("map of root", lambda: os.write(os.open("/proc/self/uid_map", os.O_WRONLY), b"0 0 1"))
attempt("kill init", lambda: os.kill(1, signal.SIGKILL))
attempt("stop init", lambda: os.kill(1, signal.SIGSTOP))
for limit, most in ((resource.RLIMIT_NPROC, 10000), (resource.RLIMIT_NOFILE, 1 << 20), (resource.RLIMIT_AS, 1 << 45)):
    attempt(f"limit {limit}", lambda: resource.setrlimit(limit, (most, most)))
attempt("memory of init", lambda: open("/proc/1/mem", "rb").close())
attempt("clock", lambda: check(libc.clock_settime(0, (ctypes.c_long * 2)(0, 0))))
attempt("device", lambda: os.mknod("/work/device", 0o20666, os.makedev(1, 1)))
attempt("reboot", lambda: check(libc.reboot(0x1234567)))
libc.mount(None, sys.prefix.encode(), None, 32 | 4096, None)
libc.mount(None, b"/", None, 32, None)
libc.umount2(sys.prefix.encode(), 2)
attempt("interpreter", lambda: open(sys.prefix + "/bin/probe", "w").close())
attempt("root", lambda: open("/usr/bin/probe", "w").close())
attempt("host disk", lambda: check(libc.mount(b"/dev/sda1", b"/tmp", b"ext4", 0, None)))
attempt("gofer", lambda: check(libc.mount(b"none", b"/tmp", b"9p", 0, b"trans=fd,rfdno=3,wfdno=3,aname=/")))
"""
done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
print(done.stdout, done.stderr)
print("root ended")
