"""Clients that look for a proxy only when they are told to.

Where there is a way out it is a proxy, which the environment names; without it such a
client finds no host at all.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import posix

_PROXY = b"HTTPS_PROXY" in posix.environ


def install_aiohttp(client) -> None:
    """Make aiohttp's sessions read the environment unless they are told not to."""
    defaults = client.ClientSession.__init__.__kwdefaults__
    if _PROXY and "trust_env" in defaults:
        defaults["trust_env"] = True
