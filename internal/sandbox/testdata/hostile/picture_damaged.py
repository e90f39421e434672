# why: pictures with a right header and wrong, cut or endless rest; what cannot be decoded is not shown, and no decoder panics.
# kind: repr
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2

import struct
import zlib


def chunk(kind, data, length=None, check=None):
    size = len(data) if length is None else length
    return (
        struct.pack(">I", size) + kind + data + struct.pack(">I", zlib.crc32(kind + data) if check is None else check)
    )


class P:
    def _repr_png_(self):
        header = struct.pack(">IIBBBBB", 64, 64, 8, 3, 0, 0, 1)
        body = (
            chunk(b"PLTE", bytes(7))
            + chunk(b"tRNS", bytes(300))
            + chunk(b"IDAT", zlib.compress(bytes(9)), 0xFFFFFFFF, 0)
        )
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"acTL", bytes(8)) + body

    def __repr__(self):
        return "damaged"


P()
