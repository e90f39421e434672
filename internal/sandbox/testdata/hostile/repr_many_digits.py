# why: VAL-08: the value is a number with more digits than may be shown; its error is an ordinary one.
# kind: repr
# status: ok, error
# after: kept
# next: 1 + 1
# next-value: 2

2**200_000
