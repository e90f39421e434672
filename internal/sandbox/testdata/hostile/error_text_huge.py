# why: an exception with ten million characters, a note of as many and a name of a million; the traceback is bounded.
# kind: repr
# status: error
# after: kept
# next: 1 + 1
# next-value: 2

error = type("E" * 1_000_000, (Exception,), {})("x" * 10_000_000)
error.add_note("n" * 10_000_000)
raise error
