# why: every Python function of the kernel's module gets the code of one that does nothing; no answer comes, and the limit ends the run.
# kind: kernel-module
# status: ok, error, crashed, timeout
# after: any
# next: 1 + 1
# next-value: 2

import gc
import sys
import types


def nothing(*_, **__):
    return None


files, frame = set(), sys._getframe().f_back
while frame is not None:
    files.add(frame.f_code.co_filename)
    frame = frame.f_back
for thing in gc.get_objects():
    if isinstance(thing, types.FunctionType) and thing.__code__.co_filename in files:
        try:
            thing.__code__ = nothing.__code__
        except ValueError:
            pass
