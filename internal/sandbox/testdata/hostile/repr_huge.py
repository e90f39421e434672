# why: the value's text has forty million characters, its type's name a million; what is kept of both is bounded and says so.
# kind: repr
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2

type("A" * 1_000_000, (), {"__repr__": lambda self: "r" * 40_000_000})()
