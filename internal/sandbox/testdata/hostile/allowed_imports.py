# why: ISO-10: a filter of system calls that is too tight breaks ordinary modules; all of these load and a call of each works.
# kind: syscall
# status: ok
# stdout-has: all work
# after: kept

import asyncio
import base64
import ctypes
import decimal
import hashlib
import json
import lzma
import multiprocessing
import sqlite3
import ssl
import tempfile

ssl.create_default_context()
sqlite3.connect("/work/data.db").execute("create table t (x)")
hashlib.sha256(base64.b64encode(json.dumps([1]).encode())).hexdigest()
lzma.decompress(lzma.compress(b"x"))
decimal.Decimal(2).sqrt()
ctypes.CDLL(None).getpid()
multiprocessing.Lock()
with tempfile.NamedTemporaryFile() as f:
    f.write(b"x")
await asyncio.sleep(0)
print("all work")
