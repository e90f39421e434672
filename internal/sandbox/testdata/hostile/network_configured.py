# why: an interface, an address and a route are added through netlink, ioctl and a tunnel device; the guest may configure nothing.
# kind: network
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import fcntl
import os
import socket
import struct

RTM_NEWLINK, RTM_NEWADDR, RTM_NEWROUTE, FLAGS = 16, 20, 24, 0x605
ADDRESS = struct.pack("BBBBi", 2, 24, 0, 0, 1) + struct.pack("HH4B", 8, 2, 10, 0, 0, 2)
ROUTE = struct.pack("BBBBBBBBI", 2, 0, 0, 0, 254, 3, 0, 1, 0) + struct.pack("HHi", 8, 4, 1)
LINK = struct.pack("BBHiII", 0, 0, 0, 0, 0, 0) + struct.pack("HH4s", 8, 3, b"tap\0")
for kind, body in ((RTM_NEWLINK, LINK), (RTM_NEWADDR, ADDRESS), (RTM_NEWROUTE, ROUTE)):
    try:
        with socket.socket(16, socket.SOCK_RAW, 0) as s:
            s.settimeout(1)
            s.send(struct.pack("IHHII", 16 + len(body), kind, FLAGS, 1, 0) + body)
            code = struct.unpack("i", s.recv(4096)[16:20])[0]
            print(kind, os.strerror(-code) if code else "breach".upper())
    except OSError as e:
        print(kind, e)
try:
    tunnel = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tunnel, 0x400454CA, struct.pack("16sH22x", b"tap0", 2))
    print("breach".upper(), "tunnel")
except OSError as e:
    print("tunnel", e.strerror)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for request, text in (
        (0x8914, struct.pack("16sH", b"lo", 0x41)),
        (0x8916, struct.pack("16sH2x4B8x", b"lo", 2, 10, 0, 0, 2)),
    ):
        try:
            fcntl.ioctl(s, request, text.ljust(40, b"\0"))
            print("breach".upper(), hex(request))
        except OSError as e:
            print(hex(request), e.strerror)
print("all tried")
