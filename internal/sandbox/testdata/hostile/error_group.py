# why: groups of exceptions ten levels deep and four wide have a million leaves; their tree is cut before it is formatted.
# kind: repr
# status: error, timeout, memory
# after: any
# next: 1 + 1
# next-value: 2

group = ValueError("leaf")
for level in range(10):
    group = ExceptionGroup(f"level {level}", [group] * 4)
raise group
