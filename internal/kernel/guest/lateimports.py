"""What the kernel does when a library is imported, or needs one itself, late.

Libraries that the kernel has something to add to (a plot that is shown becomes a
picture) are noticed when they are imported, by a finder in front of all others
that knows their names; any other import costs it one look into a dict.

The kernel's own late imports (`library`) come from the standard library's folders,
whatever `sys.path` says: the file `token.py` of a chat must not be run by a traceback.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _thread
import sys

from pristine import LIBRARY, MODULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_identity = _thread.get_ident
_path_finder = MODULES["_frozen_importlib_external"].PathFinder.find_spec
_import = __import__


class Finder:
    """A meta path finder; see the module."""

    def __init__(self, hooks: dict[str, Callable[[object], None]]) -> None:
        self._hooks = hooks
        self._inside = 0  # the thread that imports for the kernel

    def install(self) -> None:
        """Take the first place among the finders again, wherever the chat has put this one."""
        finders = sys.meta_path
        if not finders or finders[0] is not self:
            finders[:] = [self, *(finder for finder in finders if finder is not self)]

    def present(self) -> None:
        """Treat libraries that are already there as if they were just imported."""
        for name, hook in self._hooks.items():
            if name in MODULES:
                _attach(hook, MODULES[name])

    def library(self, name: str):
        """Import and return a module of the standard library.

        Raises ImportError if the chat has put another in its place.
        """
        self.install()
        self._inside = _identity()
        try:
            _import(name)
        finally:
            self._inside = 0
        module = MODULES[name]
        if not str(getattr(module, "__file__", "")).startswith(tuple(LIBRARY)):
            raise ImportError(f"{name} is not the standard library's")
        return module

    def find_spec(self, name: str, path: object = None, target: object = None):
        """Return a spec only for what concerns the kernel."""
        if self._inside and path is None and self._inside == _identity():
            return _path_finder(name, LIBRARY)
        hook = self._hooks.get(name)
        if hook is None:
            return None
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, hook)
                return spec
        return None


class _Loader:
    """Loads a module as its loader does, then calls the hook."""

    def __init__(self, loader, hook: Callable[[object], None]) -> None:
        self._loader, self._hook = loader, hook

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module) -> None:
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _attach(self._hook, module)


def _attach(hook: Callable[[object], None], module: object) -> None:
    try:
        hook(module)
    except (AttributeError, ImportError, KeyError, TypeError, ValueError):
        pass  # a module of the chat's own with that name, or a version made otherwise: it stays as it is
