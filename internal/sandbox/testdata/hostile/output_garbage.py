# why: OUT-10: every byte, broken UTF-8, terminal escapes, direction marks and NUL are printed; the result is valid text.
# kind: output
# status: ok
# stdout-has: after it
# after: kept

import os

os.write(1, bytes(range(256)) * 10)
os.write(1, b"\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80\xff\xfe \xe2\x80")
os.write(2, b"\xf0\x9f\x98")
print("\x1b]0;owned\x07\x1b[2J\u202eabc\x00\x9b31m")
print("after it")
