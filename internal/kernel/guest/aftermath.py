"""What init does when the kernel has ended: tells the host, hands out files, waits for `start`."""

import channel
import workfiles


def serve(token: str, root: str, limit: int, status: int, reason: str) -> None:
    """Speak with the host until it wants another kernel."""
    host = channel.Channel(0, token)
    work = workfiles.Work(root, limit)
    host.begin()
    host.send({"op": "died", "status": status, "reason": reason, "files": work.listing()})
    while True:
        header, _ = host.receive()
        if not answer(host, work, header):
            return


def answer(host: channel.Channel, work: workfiles.Work, header: dict) -> bool:
    """Answer a `get`; return False when the host wants another kernel."""
    if header["op"] == "get":
        work.get(host, header["id"], header["paths"], header["limit"])
    return header["op"] != "start"
