# why: builtins that look useful to a kernel answer wrongly: compile, exec, len, repr, isinstance, getattr, open and the import function.
# kind: kernel-module
# status: ok
# after: any
# next: 1 + 1
# next-value: 2

import builtins


def lie(*_, **__):
    raise SystemExit("lied to")


for name in (
    "compile",
    "exec",
    "eval",
    "len",
    "repr",
    "str",
    "isinstance",
    "getattr",
    "hasattr",
    "open",
    "type",
    "max",
    "min",
    "bytes",
    "__import__",
):
    setattr(builtins, name, lie)
