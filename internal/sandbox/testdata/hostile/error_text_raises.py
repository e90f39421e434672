# why: the exception's own text raises, its class has a name that lies, its notes are no list; the error is told all the same.
# kind: repr
# status: error
# after: kept
# next: 1 + 1
# next-value: 2


class Meta(type):
    __name__ = __module__ = property(lambda cls: 1 / 0)


class Evil(Exception, metaclass=Meta):
    __notes__ = 7

    def __str__(self):
        raise SystemExit("no text")

    __repr__ = __str__


raise Evil
