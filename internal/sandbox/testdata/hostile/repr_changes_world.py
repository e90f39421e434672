# why: while its text is made, the value patches builtins, closes the streams and moves to another folder.
# kind: repr
# status: ok, error
# after: any
# next: 1 + 1
# next-value: 2

import builtins
import os
import sys


class R:
    def __repr__(self):
        builtins.isinstance = builtins.len = builtins.getattr = None
        sys.stdout = sys.stderr = None
        os.chdir("/")
        return "done"


R()
