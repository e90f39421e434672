# why: bytes queued in sockets are in the sandbox's own heap, not in the guest's memory; spread over children they must count too.
# kind: memory
# status: memory, killed
# error-has: 256 MiB
# after: any

import os
import socket
import time


def fill():
    pairs = []
    block = b"x" * 65536
    while True:
        try:
            pair = socket.socketpair()
        except OSError:
            return pairs
        pairs.append(pair)
        for end in pair:
            end.setblocking(False)
            try:
                while True:
                    end.send(block)
            except OSError:
                pass


for _ in range(40):
    if os.fork() == 0:
        held = fill()
        time.sleep(60)
        os._exit(0)
time.sleep(60)
