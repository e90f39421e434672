"""Which of the modules that code imports are not there: what may have to be installed before it runs.

Nothing is imported, and no finder, loader, `__path__` or descriptor of the chat is
asked. What stands on `sys.path` is looked for as files, as Python's own finder does;
a module that only a finder of the chat would find counts as absent.

Takes up to a few thousand system calls, so it is to be called by `Interrupts.call`.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _imp
import posix
import sys

from imports import Imports
from pristine import MODULES

_stat, _scandir = posix.stat, posix.scandir
_module, _function = type(sys), type(lambda: None)
_Spec = MODULES["_frozen_importlib"].ModuleSpec
_Namespace = MODULES["_frozen_importlib_external"].NamespaceLoader
_Zip, _NoZip = MODULES["zipimport"].zipimporter, MODULES["zipimport"].ZipImportError

_SUFFIXES = (*_imp.extension_suffixes(), ".py", ".pyc")
_KIND, _FOLDER, _FILE = 0o170000, 0o040000, 0o100000
#: Entries of sys.path that are searched, and of a folder that are looked at.
_FOLDERS, _ENTRIES = 100, 1_000


class Needs:
    """Knows what a chat has. names is its global namespace, work its folder."""

    def __init__(self, names: dict[str, object], work: str) -> None:
        self._names = names
        self._work = work

    def missing(self, imports: Imports) -> tuple[list[str], list[str]]:
        """Return the absent modules that the code needs, and those that it can do without.

        The names are dotted as far as the code has them (`google.cloud.storage`,
        `pandas.DataFrame`), since a package in several distributions cannot be told
        from an ordinary one by its first part.
        """
        search = _Search(self._names, self._work, imports)
        needed: dict[str, None] = {}
        optional: dict[str, None] = {}
        for name, place in imports.found:
            if search.is_absent(name) and place.is_reached(search.is_absent):
                (optional if place.optional else needed)[name] = None
        return list(needed), [name for name in optional if name not in needed]


class _Search:
    """Looks for modules, each once."""

    def __init__(self, names: dict[str, object], work: str, imports: Imports) -> None:
        self._names = names
        self._work = work
        self._written = imports.written
        path = sys.path if type(sys.path) is list else []
        entries = [*imports.folders, *path]
        self._path = [_entry(entry) for entry in entries[:_FOLDERS] if type(entry) is str]
        self._known: dict[str, bool] = {}
        self._places: dict[str, bool | list[str]] = {}

    def is_absent(self, name: str) -> bool:
        """Report whether importing a dotted name would find nothing."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = not (self._is_own(name) or self._is_found(name))
        return known

    def _is_own(self, name: str) -> bool:
        """Report whether a module is loaded, or its name one that the chat has given to something."""
        top = name.partition(".")[0]
        if name in MODULES or top in self._written:
            return True
        if top in MODULES:
            return not _is_namespace(MODULES[top])
        # Texts, numbers and the like are no reason: `requests = 3` and then `import requests` is meant.
        return issubclass(type(self._names.get(top)), (type, _function, _module))

    def _is_found(self, name: str) -> bool:
        folders, prefix = self._path, ""
        for part in name.split("."):
            prefix = f"{prefix}.{part}"
            found = self._places.get(prefix)
            if found is None:
                found = self._places[prefix] = self._look(folders, part)
            if type(found) is bool:
                return found
            folders = found
        return True

    def _look(self, folders: list, name: str) -> bool | list[str]:
        """Return whether a module is in one of the folders, or the folders of a namespace package."""
        portions = []
        for folder in folders:
            if type(folder) is _Zip:
                if folder.find_spec(name) is not None:
                    return True
                continue
            path = f"{folder}/{name}" if folder else name
            is_folder = _kind(path) == _FOLDER
            if is_folder and _has_file(f"{path}/__init__") or _has_file(path):
                return True
            if is_folder and _has_modules(path):
                if self._is_local(folder):
                    return True
                portions.append(path)
        return portions or False

    def _is_local(self, folder: str) -> bool:
        """Report whether a folder is the chat's: what is missing in there is in no distribution."""
        return not folder.startswith("/") or folder == self._work or folder.startswith(self._work + "/")


def _entry(path: str):
    """Return what to search for an entry of sys.path: the folder, or what reads the archive."""
    if _kind(path) == _FILE:
        try:
            return _Zip(path)
        except (_NoZip, ValueError):
            pass
    return path


def _is_namespace(module: object) -> bool:
    """Report whether a loaded module is a namespace package, parts of which may be missing."""
    spec = vars(module).get("__spec__") if type(module) is _module else None
    return type(spec) is _Spec and type(spec.loader) is _Namespace


def _kind(path: str) -> int:
    try:
        return _stat(path).st_mode & _KIND
    except (OSError, ValueError):  # also a name that no file can have
        return 0


def _has_file(stem: str) -> bool:
    return any(_kind(stem + suffix) == _FILE for suffix in _SUFFIXES)


def _has_modules(folder: str) -> bool:
    """Report whether a folder without `__init__` holds modules or packages, or is one of data."""
    try:
        with _scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count == _ENTRIES or entry.name.endswith(_SUFFIXES):
                    return True
                if entry.is_dir() and entry.name.isidentifier() and entry.name != "__pycache__":
                    return True
    except OSError:
        pass
    return False
