# why: MEM-07: a shell's pipeline needs several processes at once; the process limit must leave room for it.
# kind: process
# status: ok
# stdout-has: b
# after: kept

import subprocess

print(subprocess.run("echo a | tr a b | cat", shell=True, capture_output=True, text=True).stdout)
