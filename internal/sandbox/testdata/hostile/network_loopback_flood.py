# why: a socket pair on the guest's loopback is flooded as fast as it goes; it costs the guest's share and ends with the run.
# kind: network
# status: timeout
# after: kept

import socket
import threading

server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
peer, _ = server.accept()


def drain():
    while peer.recv(1 << 16):
        pass


threading.Thread(target=drain, daemon=True).start()
while True:
    client.sendall(bytes(1 << 16))
