# why: a recursion without end, through functions; the traceback has its repeated lines folded and is bounded.
# kind: repr
# status: error
# error-has: RecursionError
# after: kept
# next: 1 + 1
# next-value: 2


def f(n):
    return f(n + 1)


f(0)
