# why: abstract Unix sockets need no file; those of the host's services and of other guests must not be reachable by name.
# kind: network
# status: ok
# stdout-has: own one works
# stdout-not: BREACH
# after: kept

import socket

for name in (
    "/tmp/.X11-unix/X0",
    "/tmp/dbus-",
    "/com/ubuntu/upstart",
    "/containerd-shim/",
    "docker",
    "ISCSIADM_ABSTRACT_NAMESPACE",
    "runsc-a",
    "gvisor",
):
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
        try:
            with socket.socket(socket.AF_UNIX, kind) as s:
                s.connect("\0" + name)
            print("breach".upper(), name)
        except OSError as e:
            print(name, e.strerror)
with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
    server.bind("\0hostile")
    server.listen()
    client.connect("\0hostile")
    print("own one works")
