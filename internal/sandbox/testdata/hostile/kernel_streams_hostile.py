# why: sys.stdout is an object whose methods raise or return nonsense; flushing it is the code's affair, the answer the kernel's.
# kind: kernel-module
# status: ok, error, exit
# after: kept
# next: print("again") or "printed"
# next-value: 'printed'

import sys


class Stream:
    encoding = errors = closed = property(lambda self: 1 / 0)

    def write(self, text):
        return -(10**30)

    def flush(self):
        raise SystemExit("flushed")

    def fileno(self):
        return -7


sys.stdout = sys.stderr = sys.stdin = Stream()
