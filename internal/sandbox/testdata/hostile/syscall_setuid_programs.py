# why: programs with the set-user-id bit are in the host's folders; in the guest the bit must do nothing.
# kind: syscall
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import os
import shutil
import stat
import subprocess

for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/lib"):
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        try:
            mode = os.stat(path).st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
            print(path, oct(mode))
commands = (
    ["su", "-c", "id -u"],
    ["sudo", "-n", "id", "-u"],
    ["mount", "-t", "tmpfs", "none", "/work"],
    ["passwd", "-d", "root"],
    ["newgrp", "root"],
    ["pkexec", "id", "-u"],
    ["unshare", "-p", "-f", "id", "-u"],
)
for command in commands:
    if shutil.which(command[0]):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2)
        print(command[0], done.returncode, done.stderr[:80])
        if done.stdout.strip() == "0" or command[0] in ("mount", "passwd") and done.returncode == 0:
            print("breach".upper(), command)
shutil.copy("/bin/cat", "/work/cat")
os.chmod("/work/cat", 0o6755)
print(subprocess.run(["/work/cat", "/proc/self/status"], capture_output=True, text=True).stdout.count("\t0\t"))
print("all tried")
