"""What init does when the kernel has ended: tells the host, hands out files, waits for `start`."""

import time

import channel
import workfiles

#: How often (seconds), and how many times in a row, a host that has gone is looked for; as in kernel.py.
HOST_SECONDS, HOST_TRIES = 0.05, 2400


def serve(token: str, root: str, limit: int, status: int, reason: str) -> None:
    """Speak with the host until it wants another kernel, or with the one that has come in its place."""
    host = channel.Channel(0, token)
    work = workfiles.Work(root, limit)
    tries = 0
    said = False
    while True:
        try:
            if not said:
                host.begin()
                host.send({"op": "died", "status": status, "reason": reason, "files": work.listing()})
                said = True
            header, _ = host.receive()
            tries = 0
            if header["op"] == "hello":  # of a host that has not heard it
                said = False
            elif not answer(host, work, header):
                return
        except (EOFError, OSError):
            tries += 1
            if tries > HOST_TRIES:
                raise
            time.sleep(HOST_SECONDS)


def answer(host: channel.Channel, work: workfiles.Work, header: dict) -> bool:
    """Answer a `get`; return False when the host wants another kernel."""
    if header["op"] == "get":
        work.get(host, header["id"], header["paths"], header["limit"])
    return header["op"] != "start"
