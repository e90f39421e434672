# why: MEM-01: one allocation that no machine has is refused at once instead of hanging the guest.
# kind: memory
# status: error, memory
# error-has: MemoryError
# after: kept
# next: 1 + 1
# next-value: 2

x = bytearray(1 << 45)
