"""Packets on the channel between the guest and the host; the format is in PROTOCOL.md.

Everything that is used after code of the chat has run is bound here at import,
so that replacing `os.write` or `print` in the interpreter changes nothing.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import os

import codec

CHUNK_BYTES = 60_000
PACKET_BYTES = 1 << 16

_read, _write = os.read, os.write
_encode, _decode = codec.encode, codec.decode


class Channel:
    """One end of the channel; not safe for use by several threads at once."""

    def __init__(self, fd: int, token: str) -> None:
        self._fd = fd
        self._token = token.encode("ascii")
        self._more = self._token + b"+"
        self._last = self._token + b"."

    def send(self, header: dict, body: bytes = b"") -> None:
        """Send one message; blocks while the host does not read."""
        data = _encode(header).encode("utf-8", "backslashreplace") + b"\n" + body
        if len(data) <= CHUNK_BYTES:
            _write(self._fd, self._last + data)
            return
        view = memoryview(data)
        for start in range(0, len(data), CHUNK_BYTES):
            mark = self._last if start + CHUNK_BYTES >= len(data) else self._more
            _write(self._fd, mark + view[start : start + CHUNK_BYTES])

    def begin(self) -> None:
        """Tell the host to forget the message that another process did not finish."""
        _write(self._fd, self._token + b"!")

    def receive(self) -> tuple[dict, bytes]:
        """Return the next message. Raises EOFError when the host has gone."""
        parts = []
        while True:
            packet = _read(self._fd, PACKET_BYTES)
            if not packet:
                raise EOFError("the host has closed the channel")
            if packet.startswith(self._last):
                parts.append(packet[len(self._last) :])
                break
            if packet.startswith(self._more):
                parts.append(packet[len(self._more) :])
        header, _, body = b"".join(parts).partition(b"\n")
        return _decode(header.decode("utf-8")), body
