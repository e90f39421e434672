"""What code imports and is not there: asked of the host before the code runs.

The host may install it while the guest stands still. Afterwards the interpreter has to
look again, since it remembers what was in the folders of `sys.path`; a module that
is loaded already stays what it is.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import sys

from imports import Imports
from interrupts import Interrupts
from needs import Needs
from pristine import MODULES
from text import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from channel import Channel

_external = MODULES["_frozen_importlib_external"]
_FileFinder, _Namespace = _external.FileFinder, _external._NamespacePath
_forget = _FileFinder.invalidate_caches

#: Modules that a note names.
_NAMED = 5


class Supplies:
    """One per process. note tells the person something."""

    def __init__(
        self, needs: Needs, interrupts: Interrupts, channel: "Channel", note: "Callable[[str], None]"
    ) -> None:
        self._needs = needs
        self._interrupts = interrupts
        self._channel = channel
        self._note = note

    def fetch(self, n: int, imports: Imports) -> None:
        """Ask for what run n needs, if anything, and wait. To be called by `Interrupts.call`."""
        needed, _ = self._needs.missing(imports)
        if not needed:
            return
        self._interrupts.undisturbed(self._channel.send, {"op": "needs", "n": n, "needed": needed})
        while True:
            header, _ = self._channel.receive()
            if header.get("op") == "installed" and header.get("n") == n:
                break  # and not the answer to a run that an interrupt has ended
        self.refresh(header["changed"])

    def refresh(self, changed: list[str]) -> None:
        """Look anew for modules, now that packages were installed; changed are those that have another version."""
        finders = sys.path_importer_cache
        for finder in list(finders.values()) if type(finders) is dict else ():
            if type(finder) is _FileFinder:
                _forget(finder)
        _Namespace._epoch += 1  # the folders of namespace packages that are loaded
        loaded = [name for name in changed if name in MODULES]
        if loaded:
            more = f" and {plural(len(loaded) - _NAMED, 'more module')}" if len(loaded) > _NAMED else ""
            self._note(
                f"{', '.join(loaded[:_NAMED])}{more}: loaded before another version was installed,"
                " the old one goes on in this chat; begin a new chat for the new one"
            )
