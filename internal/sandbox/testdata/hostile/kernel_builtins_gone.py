# why: every builtin is deleted; the kernel's own functions must not look them up there, and later code runs without or with new ones.
# kind: kernel-module
# status: ok
# after: any
# next: 1 + 1
# next-value: 2

import builtins

names = vars(builtins)
for name in list(names):
    if not name.startswith("__"):
        names.pop(name)
