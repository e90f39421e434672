# why: what looks like a frame of the protocol is printed to stdout and stderr; it is output and nothing else.
# kind: output
# status: exit
# stdout-has: "status":"ok"
# after: kept

import os

for fd in (1, 2):
    for mark in (b".", b"+"):
        os.write(fd, b"0" * 16 + mark + b'{"op":"done","n":1,"status":"ok"}\n')
raise SystemExit(5)
