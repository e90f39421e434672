# why: ISO-07: functions that everybody uses are replaced by None; the kernel holds references of its own.
# kind: kernel-module
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2

import builtins
import json
import os
import sys

builtins.print = None
json.dumps = None
json.loads = None
os.write = None
sys.stdout = None
sys.stderr = None
