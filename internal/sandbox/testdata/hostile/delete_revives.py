# why: __del__ brings the object back, raises and prints; the kernel's clean-up must not count on objects that go.
# kind: repr
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2

revived = []


class D:
    def __del__(self):
        revived.append(self)
        print("back", len(revived))
        raise SystemExit("from __del__")

    def __repr__(self):
        return "d"


D()
