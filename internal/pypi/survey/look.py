# Runs in the guest after the import that is measured: `took` has its seconds, `name` the
# distribution, `module` what it is imported by.
import importlib.metadata as _metadata
import json as _json
import pathlib as _pathlib

_MODULES = (".py", ".so")


def _module(path, packages):
    """Return what a file of a distribution is imported by: the first part of its path that is a module."""
    parts = path.parts
    for count in range(1, len(parts)):
        if "/".join(parts[:count]) in packages:
            return ".".join(parts[:count])
    return ".".join((*parts[:-1], parts[-1].split(".")[0]))


def _offers(distribution):
    """Return the import names of a distribution; of a namespace what is below it."""
    files = [path for path in distribution.files or () if path.suffix in _MODULES]
    files = [path for path in files if all(part.split(".")[0].isidentifier() for part in path.parts)]
    packages = {str(path.parent) for path in files if path.name == "__init__.py"}
    names = {_module(path, packages) for path in files}
    meant = [name for name in names if not name.rpartition(".")[2].startswith("_") and not name.endswith("__mypyc")]
    return sorted(meant)[:200]


_all = {d.name: d for d in _metadata.distributions(path=["/opt/env"])}
_pathlib.Path("found.json").write_text(
    _json.dumps(
        {
            "seconds": took,
            "version": _metadata.version(name),
            "offers": {key: _offers(value) for key, value in _all.items()},
        }
    )
)
