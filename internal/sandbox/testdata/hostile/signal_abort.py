# why: abort leaves a core file where it is allowed to; here it leaves none, and the limit for it was raised in vain.
# kind: signal
# status: crashed
# error-has: SIGABRT
# after: any
# next: [n for n in __import__("os").listdir("/work") if "core" in n]
# next-value: []

import os
import resource

try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
except (OSError, ValueError) as e:
    print(e)
os.abort()
