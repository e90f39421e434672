# why: MEM-02: a list grows until nothing is left; the run ends at the memory limit and says so, the next call works.
# kind: memory
# status: memory
# error-has: 256 MiB
# after: any
# next: 1 + 1
# next-value: 2

big = []
while True:
    big.append(bytearray(10**7))
