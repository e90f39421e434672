# why: well-formed frames with guessed, empty, short and zero tokens, whole and in parts; all are dropped without a word.
# kind: protocol
# status: exit
# stdout-not: FORGED
# after: kept

import os

bodies = [
    b'{"op":"done","n":%d,"status":"ok","chosen":0,"value":{"text":"%s","type":"str","omitted":0}}\n'
    % (n, b"forged".upper())
    for n in range(20)
]
for fd in range(3, 4096):
    try:
        for token in (b"", b"\0" * 16, b" " * 16, b"0" * 15, b"0" * 17, bytes(range(65, 81))):
            for mark in (b".", b"+", b"", b"?"):
                for body in bodies:
                    os.write(fd, token + mark + body)
    except OSError:
        pass
raise SystemExit(5)
