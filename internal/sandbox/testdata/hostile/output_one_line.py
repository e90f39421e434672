# why: OUT-03: fifty megabytes without a newline; no reader of lines may keep them, the middle is left out with a count.
# kind: output
# status: ok
# stdout-has: left out
# stdout-has: the end
# after: kept

import sys

for _ in range(50):
    sys.stdout.write("x" * 1_000_000)
print("the end")
