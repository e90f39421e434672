# why: a faked plotting library has figures without end, each of which takes a while; the hook is covered by the time limit.
# kind: repr
# status: ok, timeout
# after: any
# next: 1 + 1
# next-value: 2

import itertools
import sys
import time


class Fake:
    def get_fignums(self):
        sys.modules.pop("matplotlib.pyplot", None)
        return itertools.count()

    def figure(self, *_):
        return self

    def savefig(self, file, *_, **__):
        time.sleep(0.1)
        file.write(b"\x89PNG\r\n\x1a\n" + bytes(1 << 20))

    close = switch_backend = use = figure


sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = Fake()
None
