# why: EXT-03: standard input is read in every way there is; it is empty at once and nothing waits for a person.
# kind: descriptor
# status: ok
# stdout-has: '' b'' ''
# after: kept

import os
import sys

print(repr(open("/dev/stdin").read()), os.read(0, 10), repr(sys.stdin.read()))
for ask in (input, breakpoint):
    try:
        ask()
    except BaseException as e:
        print(type(e).__name__)
try:
    print(open("/dev/tty").read())
except OSError as e:
    print(e)
