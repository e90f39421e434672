"""Sources of classes of the chat, for `inspect`.

A class knows the line on which it begins, and `inspect` asks its module for the
file. The module of a chat has no file: its code is the runs, in linecache.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

from pristine import MODULES
from source import RUN_PREFIX

_function = type(lambda: None)


def install(inspect) -> None:
    """Teach the module inspect, when it was just imported, the files of the chat's classes."""
    usual = inspect.getfile

    def getfile(object):
        try:
            return usual(object)
        except (OSError, TypeError):
            name = isinstance(object, type) and object.__module__ == "__main__" and _run_of(object)
            if not name:
                raise
            return name

    getfile.__doc__ = usual.__doc__
    inspect.getfile = getfile


def _run_of(cls: type) -> str:
    """Return the name of the run that defined cls, or ''."""
    for value in vars(cls).values():
        value = getattr(value, "__func__", value)
        if isinstance(value, _function) and value.__code__.co_filename.startswith(RUN_PREFIX):
            return value.__code__.co_filename
    line = vars(cls).get("__firstlineno__", 0)
    cache = getattr(MODULES.get("linecache"), "cache", {})
    for name in reversed(list(cache)):
        lines = cache[name][2] if name.startswith(RUN_PREFIX) and len(cache[name]) > 2 else ()
        if 0 < line <= len(lines) and lines[line - 1].lstrip().startswith(("class " + cls.__name__, "@")):
            return name
    return ""
