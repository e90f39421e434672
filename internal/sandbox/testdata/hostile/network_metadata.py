# why: NET-04: the metadata services of clouds are called by number, IPv4 and IPv6; none may answer.
# kind: network
# status: ok
# stdout-has: 169.254.169.254 blocked
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import socket

for host in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"):
    for port in (80, 443, 1338):
        try:
            socket.create_connection((host, port), 1).close()
            print("breach".upper(), host, port)
        except OSError:
            print(host, "blocked")
print("all tried")
