"""What the kernel keeps for itself.

Code of a chat runs in the same interpreter and may patch whatever it can name:
``builtins.print = None``, ``json.dumps = None``, ``sys.stdout = None``. The kernel
must go on. Therefore every module of it begins with

    from pristine import BUILTINS as __builtins__

A function looks builtins up where ``__builtins__`` of its module pointed when it
was defined, so those functions see this copy for ever. For the rest the kernel
binds C functions by name at start (``posix``, ``_signal``, ``_json``) instead of
the Python modules around them, which can be patched and cost each guest memory.
"""

import builtins
import sys

BUILTINS = dict(vars(builtins))

#: The interpreter's real table of modules, also when ``sys.modules`` is rebound.
MODULES = sys.modules

#: The folder of the kernel's own modules.
FOLDER = __file__.rpartition("/")[0]

#: Directories of the standard library, where the kernel's own late imports come from.
LIBRARY = [
    path
    for path in sys.path
    if path.startswith(sys.base_prefix) and path != FOLDER and not path.endswith("site-packages")
]


def withdraw() -> tuple[frozenset[int], frozenset[str]]:
    """Take the kernel's modules out of reach of ``import``.

    Returns the identities of their global namespaces (and of the program's that
    started the kernel) and the names of their files, by which a frame of the
    kernel is told from one of the chat.
    """
    spaces, files = {id(vars(MODULES["__main__"]))}, set()
    for name, module in list(MODULES.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.rpartition("/")[0] == FOLDER and name != "__main__":
            spaces.add(id(vars(module)))
            files.add(file)
            del MODULES[name]
    sys.path[:] = [path for path in sys.path if path != FOLDER]
    sys.path_importer_cache.pop(FOLDER, None)
    return frozenset(spaces), frozenset(files)
