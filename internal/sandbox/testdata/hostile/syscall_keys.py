# why: keyrings of the user and the session are opened, filled and read; no key of anybody else is in them, and they are bounded.
# kind: syscall
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import ctypes
import os
import platform

libc = ctypes.CDLL(None, use_errno=True)
add_key, request_key, keyctl = (217, 218, 219) if platform.machine() == "aarch64" else (248, 249, 250)
DESCRIBE, READ, SEARCH = 6, 11, 10
for ring in range(-1, -6, -1):
    text = ctypes.create_string_buffer(256)
    for operation in (DESCRIBE, READ):
        size = libc.syscall(keyctl, operation, ring, text, 256)
        print(ring, operation, text.raw[: max(size, 0)] if size >= 0 else os.strerror(ctypes.get_errno()))
for number in range(2000):
    if libc.syscall(add_key, b"user", b"k%d" % number, bytes(30000), 30000, -3) < 0:
        print("full at", number, os.strerror(ctypes.get_errno()))
        break
else:
    print("breach".upper(), "sixty megabytes in keys")
if libc.syscall(request_key, b"user", b"docker", None, 0) >= 0:
    print("breach".upper(), "a key of somebody else")
print("all tried")
