# why: a hundred thousand exceptions are each the context of the next, and the last is the cause of the first.
# kind: repr
# status: error, timeout
# after: any
# next: 1 + 1
# next-value: 2

first = last = ValueError("first")
for number in range(100_000):
    following = ValueError(number)
    following.__context__ = last
    last = following
first.__cause__ = last
raise last
