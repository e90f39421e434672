# why: the modules that format tracebacks are patched to raise, and the lines of the code are replaced; the error is still told.
# kind: kernel-module
# status: error
# error-has: ZeroDivisionError
# after: kept
# next: 1 + 1
# next-value: 2

import linecache
import traceback


def fail(*_, **__):
    raise SystemError("patched")


for name in (
    "format_exception",
    "format_tb",
    "format_list",
    "print_exc",
    "walk_tb",
    "extract_tb",
    "format_exception_only",
):
    setattr(traceback, name, fail)
for name in ("getline", "getlines", "updatecache", "lazycache", "checkcache"):
    setattr(linecache, name, fail)
linecache.cache = fail
1 / 0
