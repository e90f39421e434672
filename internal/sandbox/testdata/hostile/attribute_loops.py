# why: each attribute that is looked up on the value takes for ever; pictures and tables are looked for on its class alone.
# kind: repr
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2


class A:
    def __getattribute__(self, name):
        while True:
            pass


A()
