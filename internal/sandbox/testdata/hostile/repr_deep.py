# why: the value is a list inside of a list, a million times; its text and its release recurse in C.
# kind: repr
# status: ok, error, crashed
# after: any
# next: 1 + 1
# next-value: 2

nested = []
for _ in range(1_000_000):
    nested = [nested]
nested
