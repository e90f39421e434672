# why: the guest's loopback is its own: the ports of the host's services, the server's own among them, are not on it.
# kind: network
# status: ok
# stdout-has: scanned
# stdout-not: BREACH
# after: kept

import socket

ports = (
    22,
    25,
    53,
    80,
    111,
    443,
    631,
    2375,
    2376,
    3306,
    5432,
    6379,
    6443,
    8000,
    8080,
    8443,
    9090,
    9100,
    10250,
    11434,
    27017,
)
for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
    for port in ports:
        try:
            with socket.socket(family) as s:
                s.settimeout(0.5)
                s.connect((host, port))
            print("breach".upper(), host, port)
        except OSError:
            pass
print("scanned")
