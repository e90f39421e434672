# why: MEM-09: the recursion limit is lifted and the stack runs over in C; an error or a crash, and the chat recovers.
# kind: repr
# status: error, crashed, memory
# after: any
# next: 1 + 1
# next-value: 2

import sys

sys.setrecursionlimit(10**7)


class A:
    def __getattr__(self, k):
        return getattr(self, k + "x")


A().q
