# why: the exception's own text never ends; the time limit covers the making of the traceback.
# kind: repr
# status: timeout
# after: any
# next: 1 + 1
# next-value: 2


class Evil(Exception):
    def __str__(self):
        while True:
            pass


raise Evil
