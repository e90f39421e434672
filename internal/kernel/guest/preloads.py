"""Libraries that the operator wants every chat to begin with, imported before it does.

The host checkpoints the interpreter after this, and chats come out of that image. The
modules are loaded and nothing else: no name of them is in the namespace of the code.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import gc
from functools import partial

from text import full_class_name, line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_import = __import__


def preload(wanted: "list[str]", looked_after: "Iterable[str]", finish: "Callable[[], None]") -> list[str]:
    """Import modules, and return what went wrong, a line for each that is not there now.

    looked_after are modules that the kernel has something to add to: those of the
    wanted packages are imported too, such as `matplotlib.pyplot` for `matplotlib`, since what
    the chat imports of them is mostly that. finish is called in the end and may raise anything.
    """
    packages = {name.partition(".")[0] for name in wanted}
    modules = dict.fromkeys(wanted)
    modules.update(dict.fromkeys(name for name in looked_after if name.partition(".")[0] in packages))
    problems = [problem for name in modules if (problem := _attempt(name, partial(_import, name)))]
    if problem := _attempt("what comes after the imports", finish):
        problems.append(problem)
    gc.collect()
    gc.freeze()  # as the kernel itself: never looked at again
    return problems


def _attempt(name: str, step: "Callable[[], object]") -> str:
    try:
        step()
    except BaseException as error:  # a module may call sys.exit where it does not like the machine
        try:
            text = line(str(error))
        except Exception:
            text = "?"
        return f"{name}: {full_class_name(type(error))}: {text}"
    return ""
