# why: a valid picture of a hundred kilobytes unpacks to nine hundred million pixels; the server may not unpack it to scale it down.
# kind: repr
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2

import struct
import zlib

SIDE = 30_000


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class P:
    def _repr_png_(self):
        packer, row = zlib.compressobj(9), bytes(1 + SIDE // 8)
        rows = b"".join(packer.compress(row) for _ in range(SIDE)) + packer.flush()
        header = struct.pack(">IIBBBBB", SIDE, SIDE, 1, 0, 0, 0, 0)
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")

    def __repr__(self):
        return "a bomb"


P()
