# why: the limit is reached by a hundred million small objects whose release takes long; the report must still come in time.
# kind: memory
# status: memory
# error-has: 256 MiB
# after: any

nested = ()
while True:
    nested = (nested, {})
