# why: ISO-06: a forged result is written to every descriptor; without the token it is dropped and the status stays 5.
# kind: protocol
# status: exit
# stdout-not: FORGED
# after: kept

import os

forged = b'{"status":"ok","value":"%s"}\n' % b"forged".upper()
for fd in range(3, 4096):
    try:
        os.write(fd, forged)
    except OSError:
        pass
raise SystemExit(5)
