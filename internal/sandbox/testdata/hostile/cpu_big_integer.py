# why: a power with billions of digits takes for ever in C; interrupt or kill, the run ends.
# kind: cpu
# status: timeout, memory
# after: any

len(bin(9**9**9**9))
