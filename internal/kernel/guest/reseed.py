"""New seeds for what holds random state, after the kernel has come out of an image.

Two guests restored from one image would otherwise draw the same numbers. Modules
that are not loaded yet need nothing: they ask the operating system when they are.

What code has seeded itself is left alone after the restore of a chat: it has asked
for those numbers and no others. Whether it has is noticed by a wrapper around the
functions that seed; a generator that code has made and holds is a variable like any other.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _random

from pristine import MODULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_seed = _random.Random.seed


class Seeds:
    """One per process; its hooks are called when the modules are imported."""

    def __init__(self) -> None:
        self._own: set[str] = set()  # modules whose generator code has seeded

    def install_random(self, module) -> None:
        """Notice `random.seed` and `random.setstate`."""
        self._watch(module, ("seed", "setstate"))

    def install_numpy(self, module) -> None:
        """Notice `numpy.random.seed` and what else sets the state."""
        self._watch(module, ("seed", "set_state", "set_bit_generator"))

    def _watch(self, module, names: tuple[str, ...]) -> None:
        for name in names:
            setattr(module, name, self._noticing(module.__name__, getattr(module, name)))

    def _noticing(self, module: str, function: "Callable") -> "Callable":
        own = self._own

        def wrapper(*arguments, **options):
            result = function(*arguments, **options)
            # Called without a number it asks for numbers that nobody knows, as a restore does.
            if [value for value in (*arguments, *options.values()) if value is not None]:
                own.add(module)
            else:
                own.discard(module)
            return result

        wrapper.__name__ = wrapper.__qualname__ = function.__name__
        wrapper.__doc__, wrapper.__module__, wrapper.__wrapped__ = function.__doc__, module, function
        return wrapper

    def renew(self, seed: str, restored: bool) -> None:
        """Seed again from seed, hexadecimal digits; restored says that code of the chat has run.

        Without a seed nothing is changed.
        """
        if not seed:
            return
        if not restored:
            self._own.clear()
        number = int(seed, 16)
        if "random" not in self._own:
            _reseed_random(number)
        _stir_openssl(number)
        if "numpy.random" not in self._own:
            _reseed_numpy(number)
        tempfile = MODULES.get("tempfile")
        if tempfile is not None:
            tempfile._name_sequence = None
        _forget_uuid(MODULES.get("uuid"))


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
    getattr(random.seed, "__wrapped__", random.seed)(words)


def _stir_openssl(number: int) -> None:
    """Let OpenSSL take new randomness from the system: keys and nonces come of what it has drawn before."""
    library = MODULES.get("_ssl")
    if library is not None:
        seed = number.to_bytes((number.bit_length() + 7) // 8 or 1)
        library.RAND_add(seed, float(len(seed)))


def _forget_uuid(uuid) -> None:
    if uuid is not None:
        for name in ("_node", "_last_timestamp", "_last_timestamp_v7", "_last_counter_v7"):
            if hasattr(uuid, name):
                setattr(uuid, name, 0 if name == "_last_counter_v7" else None)
