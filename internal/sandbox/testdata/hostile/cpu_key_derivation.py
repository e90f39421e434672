# why: a hash with billions of rounds runs in a library without the interpreter lock; the kill follows the interrupt.
# kind: cpu
# status: timeout
# after: any

import hashlib

hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2_000_000_000)
