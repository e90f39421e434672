# why: MEM-08: three hundred shells leave a child behind; init must reap all of them while the run goes on.
# kind: process
# status: ok
# stdout-has: all started
# after: kept

import subprocess

for _ in range(300):
    subprocess.run("true &", shell=True, check=True)
print("all started")
