# why: a regular expression backtracks for centuries; it looks for signals, so the interrupt is enough.
# kind: cpu
# status: timeout
# after: kept

import re

re.match("(a*)*b", "a" * 64)
