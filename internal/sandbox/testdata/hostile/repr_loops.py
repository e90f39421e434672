# why: VAL-09: the value's __repr__ never ends; the time limit covers it and the variables are kept.
# kind: repr
# status: timeout
# after: kept
# next: 1 + 1
# next-value: 2


class R:
    def __repr__(self):
        while True:
            pass


R()
