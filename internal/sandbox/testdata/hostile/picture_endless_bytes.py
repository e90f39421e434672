# why: _repr_png_ returns sixty megabytes behind a right signature; the largest picture is bounded before anybody copies it.
# kind: repr
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2


class P:
    def _repr_png_(self):
        return b"\x89PNG\r\n\x1a\n" + bytes(60_000_000)

    def __repr__(self):
        return "too large"


P()
