# why: flushing sys.stdout never ends; the time limit covers what the kernel does for the code at its end.
# kind: kernel-module
# status: timeout
# after: any
# next: 1 + 1
# next-value: 2

import sys


class Stream:
    def write(self, text):
        return len(text)

    def flush(self):
        while True:
            pass


sys.stdout = Stream()
