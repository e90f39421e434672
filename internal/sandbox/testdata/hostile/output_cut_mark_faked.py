# why: the sentence that marks a cut is printed by the code itself, with a count of its own; nobody computes with it.
# kind: output
# status: ok
# stdout-has: said so
# after: kept

print("… 99999999999999999999 bytes left out …\n" * 10)
print("said so")
