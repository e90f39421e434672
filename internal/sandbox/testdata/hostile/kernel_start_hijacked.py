# why: start-up files of Python and of shells are written to every place that counts, and the kernel is ended: the next one runs none.
# kind: kernel-module
# status: crashed
# after: any
# next: __import__("os").path.exists("/tmp/hijacked")
# next-value: False

import os
import sys

code = "import pathlib; pathlib.Path('/tmp/hijacked').touch()\n"
version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
places = [
    "/work",
    os.path.expanduser("~"),
    "/tmp",
    sys.prefix,
    f"{sys.prefix}/lib/{version}/site-packages",
    "/usr/lib/python3/dist-packages",
]
places += [f"{home}/.local/lib/{version}/site-packages" for home in ("/work", os.path.expanduser("~"), "/tmp")]
names = (
    "sitecustomize.py",
    "usercustomize.py",
    "evil.pth",
    "__main__.py",
    "pyvenv.cfg",
    f"python{version[6:]}._pth",
    ".pythonrc",
    ".profile",
    ".bashrc",
)
for place in places:
    try:
        os.makedirs(place, exist_ok=True)
        for name in names:
            with open(f"{place}/{name}", "w") as f:
                f.write("home = /work\n" if name == "pyvenv.cfg" else code)
    except OSError as e:
        print(e.strerror)
os.environ.update(
    LD_PRELOAD="/work/evil.so",
    PYTHONSTARTUP="/work/sitecustomize.py",
    PYTHONPATH="/work",
    PYTHONHOME="/work",
    PYTHONINSPECT="1",
    PYTHONUSERBASE="/work",
    PYTHONWARNINGS="error",
    PYTHONBREAKPOINT="sitecustomize",
    BASH_ENV="/work/.bashrc",
    PATH="/work",
)
os._exit(9)
