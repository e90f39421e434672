# why: OUT-04: a million writes of a few bytes; what the caller hears of them while they come is bounded, and the end is there.
# kind: output
# status: ok, timeout
# after: kept

import os

for number in range(1_000_000):
    os.write(1 + number % 2, b"x")
os.write(1, b"END")
