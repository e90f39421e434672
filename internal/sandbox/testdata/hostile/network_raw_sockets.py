# why: raw, packet and other unusual kinds of sockets are opened; those that could make or see foreign traffic are refused.
# kind: network
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import socket

for name, arguments in {
    "raw icmp": (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    "raw any": (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW),
    "raw icmp6": (socket.AF_INET6, socket.SOCK_RAW, 58),
    "packet": (17, socket.SOCK_RAW, 0x0300),
    "packet dgram": (17, socket.SOCK_DGRAM, 0x0300),
    "bluetooth": (31, socket.SOCK_RAW, 1),
    "can": (29, socket.SOCK_RAW, 1),
    "alg": (38, socket.SOCK_SEQPACKET, 0),
    "vsock": (40, socket.SOCK_STREAM, 0),
    "tipc": (30, socket.SOCK_SEQPACKET, 0),
    "xdp": (44, socket.SOCK_RAW, 0),
    "rds": (21, socket.SOCK_SEQPACKET, 0),
    "key": (15, socket.SOCK_RAW, 2),
}.items():
    try:
        socket.socket(*arguments).close()
        print("breach".upper(), name)
    except OSError as e:
        print(name, e.strerror)
print("all tried")
