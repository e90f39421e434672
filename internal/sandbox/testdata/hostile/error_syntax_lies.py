# why: a SyntaxError names a foreign file, a line far away and offsets beyond it; what is shown of it comes from the exception alone.
# kind: repr
# status: error
# error-has: SyntaxError
# stdout-not: root:
# after: kept
# next: 1 + 1
# next-value: 2

raise SyntaxError("odd", ("/etc/passwd", 1, 1 << 30, None, -(1 << 30), 1 << 30))
