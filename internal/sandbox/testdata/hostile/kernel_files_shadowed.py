# why: modules named like those of the library lie in /work and end the process when imported; a new kernel must not import them.
# kind: kernel-module
# status: crashed
# after: any
# next: 1 + 1
# next-value: 2

import os

for name in (
    "ast",
    "json",
    "os",
    "re",
    "io",
    "sys",
    "codecs",
    "encodings",
    "linecache",
    "traceback",
    "signal",
    "socket",
    "types",
    "struct",
    "random",
    "tempfile",
    "asyncio",
    "inspect",
    "site",
    "sitecustomize",
    "usercustomize",
    "kernel",
    "init",
    "numpy",
    "pandas",
    "matplotlib",
    "PIL",
):
    with open(f"/work/{name}.py", "w") as f:
        f.write("import posix\nposix._exit(66)\n")
os._exit(9)
