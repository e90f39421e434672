# why: ISO-05: interpreter, library, byte-code and the kernel's own files are written to; all of it is shared and read-only.
# kind: kernel-module
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import importlib.util
import json
import os
import sys

frame, files = sys._getframe().f_back, set()
while frame is not None:
    files.add(frame.f_code.co_filename)
    frame = frame.f_back
paths = {sys.executable, json.__file__, importlib.util.cache_from_source(json.__file__), *filter(os.path.isabs, files)}
for path in sorted(paths | {os.path.join(os.path.dirname(path), "planted.py") for path in paths}):
    if path.startswith(("/work", "/tmp")):
        continue
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
        print("breach".upper(), path)
    except OSError as e:
        print(path, e.strerror)
    for folder in (path, os.path.dirname(path)):
        if os.access(folder, os.W_OK):
            print("breach".upper(), "writable", folder)
print("all tried")
