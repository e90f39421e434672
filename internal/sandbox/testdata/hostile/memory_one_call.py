# why: one call in C takes 2 GiB as fast as the machine gives it, between two looks of the watch; the guest is ended, the host gets it back.
# kind: memory
# status: memory
# error-has: 256 MiB
# after: any

x = bytearray(2 << 30)
