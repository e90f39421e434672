# why: a picture's header claims two thousand million pixels a side and the data ends there; nobody may allocate by it.
# kind: repr
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2

import struct
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class P:
    def _repr_png_(self):
        header = struct.pack(">IIBBBBB", 0x7FFFFFFF, 0x7FFFFFFF, 16, 6, 0, 0, 0)
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")

    def __repr__(self):
        return "a giant"


P()
