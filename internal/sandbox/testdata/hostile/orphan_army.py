# why: MEM-08: eighty shells leave a child behind, more than there may be processes; init must reap all of them while the run goes on.
# kind: process
# status: ok
# stdout-has: all started
# after: kept

import subprocess

for _ in range(80):
    subprocess.run("true &", shell=True, check=True)
print("all started")
