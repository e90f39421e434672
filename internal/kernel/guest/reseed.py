"""New seeds for what holds random state, after the kernel has come out of a shared image.

Two guests restored from one image would otherwise draw the same numbers. Modules
that are not loaded yet need nothing: they ask the operating system when they are.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _random

from pristine import MODULES

_seed = _random.Random.seed


def reseed(seed: str) -> None:
    """Seed again from seed, hexadecimal digits."""
    number = int(seed, 16)
    _reseed_random(number)
    _stir_openssl(number)
    _reseed_numpy(number)
    tempfile = MODULES.get("tempfile")
    if tempfile is not None:
        tempfile._name_sequence = None
    uuid = MODULES.get("uuid")
    if uuid is not None:
        for name in ("_node", "_last_timestamp", "_last_timestamp_v7", "_last_counter_v7"):
            if hasattr(uuid, name):
                setattr(uuid, name, 0 if name == "_last_counter_v7" else None)


def _reseed_random(number: int) -> None:
    generator = getattr(MODULES.get("random"), "_inst", None)
    if isinstance(generator, _random.Random):
        _seed(generator, number)
        generator.gauss_next = None


def _reseed_numpy(number: int) -> None:
    random = MODULES.get("numpy.random")
    if random is None:
        return
    words = [number >> shift & 0xFFFFFFFF for shift in range(0, max(number.bit_length(), 32), 32)]
    random.seed(words)


def _stir_openssl(number: int) -> None:
    """Let OpenSSL take new randomness from the system: keys and nonces come of what it has drawn before."""
    library = MODULES.get("_ssl")
    if library is not None:
        seed = number.to_bytes((number.bit_length() + 7) // 8 or 1)
        library.RAND_add(seed, float(len(seed)))
