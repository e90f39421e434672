# why: every dictionary, list and set that the collector knows is emptied; the interpreter is hardly one any more, the chat lives.
# kind: kernel-module
# status: ok, error, crashed, timeout
# after: any
# next: 1 + 1
# next-value: 2

import gc

for thing in gc.get_objects():
    if type(thing) in (dict, list, set) and thing is not globals():
        try:
            thing.clear()
        except BaseException:
            pass
