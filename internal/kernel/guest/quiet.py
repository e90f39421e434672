"""Warnings that are for the authors of packages: about the spelling of their source.

An installer compiles packages beforehand, so nobody sees these elsewhere. Here the first
import may come before that is done.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _warnings


class _Foreign:
    """Matches the places of source that is not the chat's, as a compiled regular expression does.

    One of those would cost each guest the module re. `pattern` is what it would be made of:
    scikit-learn sends it to its workers.
    """

    def __init__(self, own: tuple[str, ...]) -> None:
        self._own = own
        self.pattern = f"(?!{'|'.join(own)})"

    def match(self, place: str) -> bool:
        return not place.startswith(self._own)


def install(own: tuple[str, ...]) -> None:
    """Leave out warnings of the compiler about files whose names begin with none of these."""
    _warnings._acquire_lock()
    try:
        _warnings.filters.insert(0, ("ignore", None, SyntaxWarning, _Foreign(own), 0))
        _warnings._filters_mutated_lock_held()
    finally:
        _warnings._release_lock()
