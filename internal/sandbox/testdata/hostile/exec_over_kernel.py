# why: the kernel process is replaced by another program, which ends; that is a crash of the kernel, told as such.
# kind: process
# status: crashed
# after: any
# next: 1 + 1
# next-value: 2

import os

os.execv("/bin/sh", ["sh", "-c", "echo another program"])
