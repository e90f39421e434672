# why: the token is found and messages with wrong types, sizes, depths, numbers and bytes are sent; nothing of them reaches the caller.
# kind: protocol
# status: ok, error, exit, crashed, killed, timeout
# after: any
# next: 40 + 2
# next-value: 42

import ctypes
import os
import re
import stat


def channels():
    """Every socket of this process."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                yield int(name)
        except OSError:
            pass


def secrets():
    """Tokens with the run's number, as they stand in memory since the request was read."""
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    found = {}
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    for line in open("/proc/self/maps"):
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        if " rw" in line and end - start < 64 << 20:
            try:
                text = os.pread(memory, end - start, start)
            except OSError, OverflowError:
                continue
            for token, n in re.findall(rb'([!-~]{16})[.+]\{"[^\n]{0,99}"n": ?(\d+)', text):
                found[token] = max(int(n), found.get(token, 0))
    os.close(memory)
    return found.items()


for token, n in secrets():
    messages = [
        b"",
        b"\n",
        b"[]\n",
        b"null\n",
        b"[" * 50_000,
        b'{"op":' * 9_000,
        b"\xff\xfe\n",
        b'{"op":"done"}\n',
        b'{"op":["done"],"n":%d}\n' % n,
        b'{"op":"done","n":"%d"}\n' % n,
        b'{"op":"done","n":1e400}\n',
        b'{"op":"done","n":NaN}\n',
        b'{"op":"done","n":-%d}\n' % (n + 1),
        b'{"op":"done","n":' + b"9" * 5000 + b"}\n",
        b'{"op":"unknown","n":%d}\n' % n,
        b'{"op":"run","n":%d,"candidates":[]}\n' % n,
        b'{"op":"hello","python":"' + b"x" * 50_000 + b'"}\n',
        b'{"op":"image","n":%d,"mime":"text/html","width":-1,"height":1e99}\n<script>' % n,
        b'{"op":"image","n":%d,"mime":"image/png","width":1,"height":1,"source":"repr"}\nnot a picture' % n,
        b'{"op":"done","n":%d,"status":"well","exit":1e30,"notes":"a","value":[],"error":7,"table":{"rows":-5}}\n' % n,
        b'{"op":"done","n":%d,"status":"ok","notes":[%s"x"],"value":{"text":"\\ud800\\u0000","type":"\\n","omitted":-1}}\n'
        % (n, b'"x",' * 10_000),
    ]
    for fd in channels():
        for message in messages:
            os.write(fd, token + b"." + message)
