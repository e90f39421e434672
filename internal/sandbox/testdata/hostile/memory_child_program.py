# why: another program, not the kernel, takes the memory; the limit holds for all processes of the guest.
# kind: memory
# status: memory
# error-has: 256 MiB
# after: any

import subprocess
import sys

code = "held = []\nwhile True:\n    held.append(bytearray(1 << 20))"
while True:
    subprocess.run([sys.executable, "-I", "-c", code])
