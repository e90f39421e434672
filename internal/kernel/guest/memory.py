"""Memory that code has freed goes back to the system, when the chat had too much of it.

The C library keeps what was freed in small pieces for the next allocation. After a
run that was stopped at the memory limit that would count against the chat, although no
variable holds it.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import gc

_collect = gc.collect


def give_back() -> None:
    """Collect cycles and trim the heap; does nothing where the C library has no such call."""
    _collect()
    try:
        import _ctypes

        class Number(_ctypes._SimpleCData):
            _type_ = "i"

        class Function(_ctypes.CFuncPtr):
            _flags_ = _ctypes.FUNCFLAG_CDECL
            _restype_ = Number

        Function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "malloc_trim"))(0)
    except Exception:  # another C library, or a module of the chat's own with that name
        pass
