# why: __repr__ returns a subclass of str whose methods lie about length, slices, encoding and equality.
# kind: repr
# status: ok, error
# after: kept
# next: 1 + 1
# next-value: 2


class Text(str):
    def __len__(self):
        return -(1 << 62) if self.__dict__.get("asked") else 1 << 62

    def __getitem__(self, key):
        raise SystemExit("sliced")

    def __iter__(self):
        while True:
            yield self

    def encode(self, *_):
        return None

    __str__ = __repr__ = __format__ = __add__ = __radd__ = __mod__ = __eq__ = lambda self, *_: 1 / 0
    __hash__ = None


class R:
    def __repr__(self):
        return Text("shown")


R()
