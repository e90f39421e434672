# why: what _repr_png_ returns is text, HTML, a script or another format; none may reach a client as image/png.
# kind: repr
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2


class P:
    def _repr_png_(self):
        return b"<html><script>alert(1)</script>" + bytes(1000)

    def __repr__(self):
        return "no picture"


P()
