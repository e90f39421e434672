# why: RUN-06: a program believes /proc/meminfo and takes nine tenths of it; at worst it gets the error, the guest stays.
# kind: memory
# status: ok, memory, error
# after: any

total = int(open("/proc/meminfo").readline().split()[1]) * 1024
print(len(bytearray(total * 9 // 10)))
