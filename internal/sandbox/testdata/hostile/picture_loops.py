# why: _repr_png_ never ends; the time limit covers it and the variables are kept.
# kind: repr
# status: timeout
# after: kept
# next: 1 + 1
# next-value: 2


class P:
    def _repr_png_(self):
        while True:
            pass


P()
