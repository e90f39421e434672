# why: _repr_png_ returns a subclass of bytes that lies about its length and contents, inside of a pair as libraries do.
# kind: repr
# status: ok, error
# after: kept
# next: 1 + 1
# next-value: 2


class Bytes(bytes):
    def __len__(self):
        return 5

    def __getitem__(self, key):
        raise SystemExit("sliced")

    def startswith(self, *_):
        return True

    __eq__ = lambda self, other: True
    __hash__ = None


class P:
    def _repr_png_(self):
        return Bytes(b"\x89PNG\r\n\x1a\n" + bytes(100)), {"width": -1, "height": float("nan")}


P()
