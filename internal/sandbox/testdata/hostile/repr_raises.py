# why: the value's __repr__ raises what is no ordinary exception; the value cannot be shown and the run is over.
# kind: repr
# status: ok, error, exit
# after: kept
# next: 1 + 1
# next-value: 2


class R:
    def __repr__(self):
        raise SystemExit(3)


R()
