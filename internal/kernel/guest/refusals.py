"""What code cannot have here: an answer at once instead of a wait. What it can ask for is in asking.py."""

from pristine import BUILTINS as __builtins__  # isort: skip

import sys

#: MCP forbids to ask for passwords and other secrets by a form, which is how input() asks.
_PASSWORD = (
    "getpass() is not available here, a secret must not be asked for through a chat:"
    " assign the value in the code instead"
)
_BREAKPOINT = "breakpoint() is ignored here, nobody can type commands: print what you want to know instead"


def install() -> None:
    """Replace what would wait for a person."""
    sys.breakpointhook = sys.__breakpointhook__ = _no_breakpoint


def install_getpass(module) -> None:
    """Do the same to the module getpass, just imported."""
    module.getpass = module.unix_getpass = module.fallback_getpass = _no_password


def _no_password(*arguments: object, **options: object) -> str:
    raise EOFError(_PASSWORD)


def _no_breakpoint(*arguments: object, **options: object) -> None:
    print(_BREAKPOINT, file=sys.stderr)


_no_password.__name__ = _no_password.__qualname__ = "getpass"
_no_breakpoint.__name__ = _no_breakpoint.__qualname__ = "breakpoint"
