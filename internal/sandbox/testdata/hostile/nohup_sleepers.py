# why: sleeping children in sessions of their own hold stdout and stderr open; the end of a run must not wait for their end of file.
# kind: process
# status: ok
# stdout-has: left them
# after: kept

import subprocess

for _ in range(10):
    subprocess.Popen(["nohup", "setsid", "sleep", "3600"])
print("left them")
