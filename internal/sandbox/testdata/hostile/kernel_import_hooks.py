# why: finders, path hooks and loaders that raise stand in front of every import; the kernel imports nothing after its start.
# kind: kernel-module
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2

import sys


class Finder:
    @staticmethod
    def find_spec(*_):
        raise SystemError("no imports")


sys.meta_path.insert(0, Finder)
sys.path_hooks.insert(0, Finder.find_spec)
sys.path[:] = [None, 7, "/work"]
sys.path_importer_cache.clear()
