# why: NET-06: the same address as a decimal, hexadecimal, octal, short and mapped number; blocking must not depend on the spelling.
# kind: network
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import socket

for host in (
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "0x7f.1",
    "0",
    "metadata.google.internal",
    "localhost.localdomain",
):
    try:
        address = socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM)[0]
        with socket.socket(address[0], address[1]) as s:
            s.settimeout(1)
            s.connect(address[4])
        print("breach".upper(), host)
    except OSError as e:
        print(host, e)
print("all tried")
