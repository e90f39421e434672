# why: the value's __repr__ takes memory until the limit; it is the run's memory and the run's end.
# kind: repr
# status: memory
# error-has: 256 MiB
# after: any


class R:
    def __repr__(self):
        held = []
        while True:
            held.append(bytearray(1 << 20))


R()
