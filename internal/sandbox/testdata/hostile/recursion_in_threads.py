# why: threads with stacks of 64 KiB recurse in C; an overflow there is a crash of the kernel and nothing else.
# kind: repr
# status: ok, error, crashed
# after: any
# next: 1 + 1
# next-value: 2

import sys
import threading

sys.setrecursionlimit(10**6)
threading.stack_size(65536)


class A:
    def __getattr__(self, k):
        return getattr(self, k)


def overflow():
    A().q


for _ in range(4):
    thread = threading.Thread(target=overflow)
    thread.start()
    thread.join()
