"""What code cannot have here, because nobody sits in front of it: an answer at once instead of a wait."""

from pristine import BUILTINS as __builtins__  # isort: skip

import builtins
import sys

_INPUT = (
    "input() is not available here, nobody can type while the code runs:"
    " assign the value in the code instead, for example name = 'Ada'"
)
_PASSWORD = "getpass() is not available here, nobody can type while the code runs: assign the value in the code instead"
_BREAKPOINT = "breakpoint() is ignored here, nobody can type commands: print what you want to know instead"


def install() -> None:
    """Replace what would wait for a person."""
    builtins.input = _no_input
    sys.breakpointhook = sys.__breakpointhook__ = _no_breakpoint


def install_getpass(module) -> None:
    """Do the same to the module getpass, just imported."""
    module.getpass = module.unix_getpass = module.fallback_getpass = _no_password


def _no_input(prompt: object = "", /) -> str:
    raise EOFError(_INPUT)


def _no_password(*arguments: object, **options: object) -> str:
    raise EOFError(_PASSWORD)


def _no_breakpoint(*arguments: object, **options: object) -> None:
    print(_BREAKPOINT, file=sys.stderr)


_no_input.__name__ = _no_input.__qualname__ = "input"
_no_password.__name__ = _no_password.__qualname__ = "getpass"
_no_breakpoint.__name__ = _no_breakpoint.__qualname__ = "breakpoint"
