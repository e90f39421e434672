# why: every attribute and call gives a new object of the same kind, truth and equality raise; nothing may follow the chain.
# kind: repr
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2


class Chain:
    def __getattr__(self, name):
        return Chain()

    def __call__(self, *_, **__):
        return Chain()

    def __iter__(self):
        while True:
            yield Chain()

    def __bool__(self):
        raise SystemError("neither")

    __eq__ = __len__ = __index__ = __int__ = __bool__
    __hash__ = None

    def __repr__(self):
        return "chain"


Chain()
