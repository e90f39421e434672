# why: NET-02: addresses and names outside are called; without a network each fails at once instead of hanging the run.
# kind: network
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import socket
import urllib.request

for host, port in (
    ("1.1.1.1", 53),
    ("8.8.8.8", 443),
    ("10.0.0.1", 22),
    ("172.17.0.1", 2375),
    ("192.168.0.1", 80),
    ("2606:4700:4700::1111", 53),
):
    try:
        socket.create_connection((host, port), 60).close()
        print("breach".upper(), host)
    except OSError as e:
        print(host, e)
for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as s:
        s.settimeout(60)
        try:
            s.connect(("9.9.9.9", 53))
            s.send(b"\0\1\1\0\0\1\0\0\0\0\0\0\1x\0\0\1\0\1")
            s.recv(512)
            print("breach".upper(), kind)
        except OSError as e:
            print(kind, e)
try:
    urllib.request.urlopen("http://example.test/", timeout=60)
except OSError as e:
    print(e)
print("all tried")
