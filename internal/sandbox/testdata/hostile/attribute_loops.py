# why: each attribute that is looked up on the value takes for ever; looking for pictures and tables is covered by the limit.
# kind: repr
# status: timeout
# after: kept
# next: 1 + 1
# next-value: 2


class A:
    def __getattribute__(self, name):
        while True:
            pass


A()
