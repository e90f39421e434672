"""What init does when the kernel has ended: tells the host, hands out files, waits for `start`."""

import channel
import workfiles


def serve(token: str, root: str, limit: int, status: int, reason: str) -> None:
    """Speak with the host until it wants another kernel."""
    host = channel.Channel(0, token)
    work = workfiles.Work(root, limit)
    host.send({"op": "died", "status": status, "reason": reason, "files": work.listing()})
    while True:
        header, body = host.receive()
        if not answer(host, work, header, body):
            return


def answer(host: channel.Channel, work: workfiles.Work, header: dict, body: bytes) -> bool:
    """Answer a `get` or `put`; return False for any other message."""
    op = header["op"]
    if op == "get":
        work.get(host, header["id"], header["paths"], header["limit"])
    elif op == "put":
        error = work.put(header["path"].encode("latin-1"), body, header["first"], header["last"])
        if header["last"] or error:
            host.send({"op": "put", "id": header["id"], "error": error})
    else:
        return op != "start"
    return True
