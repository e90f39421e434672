# why: MemoryError is caught and the loop goes on; the second step, a kill, must follow.
# kind: memory
# status: memory
# error-has: 256 MiB
# after: any

held = []
while True:
    try:
        held.append(bytearray(10**6))
    except BaseException:
        pass
