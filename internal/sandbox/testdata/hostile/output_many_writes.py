# why: OUT-04: twenty thousand writes of one byte to both streams; what the caller hears of them as they come is bounded, the end is there.
# kind: output
# status: ok
# stdout-has: END
# after: kept

import os

for number in range(20_000):
    os.write(1 + number % 2, b"x")
os.write(1, b"END")
