# why: the module __main__ gets a class that raises at each access, and loses name, loader and builtins.
# kind: kernel-module
# status: ok, error
# after: any
# next: 1 + 1
# next-value: 2

import sys
import types


class Main(types.ModuleType):
    def __getattribute__(self, name):
        raise SystemError(name)

    __setattr__ = __delattr__ = __getattribute__


main = sys.modules["__main__"]
for name in ("__name__", "__builtins__", "__loader__", "__spec__", "__file__", "__annotations__"):
    main.__dict__.pop(name, None)
main.__class__ = Main
