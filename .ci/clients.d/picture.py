import struct
import zlib


class Picture:
    def _repr_png_(self):
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        head = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
        rows = b"\0" + b"\xff\0\0" * 2
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows * 2)) + chunk(b"IEND", b"")


Picture()
