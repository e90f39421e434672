# why: memory grows inside one C call, where no Python signal handler runs; the kill must not wait for one.
# kind: memory
# status: memory
# error-has: 256 MiB
# after: any

sorted(iter(int, 1))
