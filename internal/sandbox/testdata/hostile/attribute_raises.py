# why: each attribute raises SystemExit or a BaseException, __class__ and __dict__ too; the value is shown or told as not showable.
# kind: repr
# status: ok, error, exit
# after: kept
# next: 1 + 1
# next-value: 2


class Odd(BaseException):
    pass


class A:
    def __getattribute__(self, name):
        raise Odd(name) if len(name) % 2 else SystemExit(name)


A()
