#!/usr/bin/env python3
"""Write imports.txt and popular.txt from the sources that README.md names. Needs Python 3.11 and git.

Usage: generate.py FOLDER

FOLDER has clones of the sources: top-pypi-packages, typeshed, pyodide-recipes, pants.
What is checked out does not matter; the newest commit is read.
"""

import ast
import csv
import io
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
POPULAR = 8_000  # names that are kept of the most downloaded
ENTRIES = 300  # fewer mean that a source has changed its form

Offers = dict[str, set[str]]  # import name: distributions that offer it


class Clone:
    """A repository of a source."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout

    def files(self, under: str) -> list[str]:
        return self.git("ls-tree", "-r", "--name-only", "HEAD", under).splitlines()

    def read(self, path: str) -> str:
        return self.git("show", f"HEAD:{path}")


def normal(name: str) -> str:
    """Return the normal form of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def bare(requirement: str) -> str:
    """Return the distribution of a requirement: without extras and versions."""
    return re.split(r"[\[<>=!~]", requirement, maxsplit=1)[0]


def most_downloaded(clone: Clone) -> list[str]:
    """Return the names of the most downloaded distributions, the first one first."""
    rows = csv.DictReader(io.StringIO(clone.read("top-pypi-packages.csv")))
    return list(dict.fromkeys(normal(row["project"]) for row in rows))


def of_typeshed(clone: Clone) -> Offers:
    """Stubs lie in stubs/DISTRIBUTION/, in the form of the modules."""
    stubs = [path.split("/")[1:] for path in clone.files("stubs/") if path.endswith(".pyi") and "@tests" not in path]
    packages = {tuple(path[:-1]) for path in stubs if path[-1] == "__init__.pyi"}
    offers: Offers = {}
    for distribution, *module in stubs:
        inside = [tuple([distribution, *module[:count]]) in packages for count in range(1, len(module))]
        if module[-1] == "__init__.pyi" and not any(inside[:-1]):
            offers.setdefault(".".join(module[:-1]), set()).add(normal(distribution))
        elif len(module) == 1:
            offers.setdefault(module[0].removesuffix(".pyi"), set()).add(normal(distribution))
    return offers


def of_pyodide(clone: Clone) -> Offers:
    """A recipe names the modules at the top level of what it builds."""
    offers: Offers = {}
    for path in clone.files("packages/"):
        if not path.endswith("/meta.yaml"):
            continue
        text = clone.read(path)
        name = re.search(r"^ +name: (\S+)$", text, re.MULTILINE)
        modules = re.search(r"^ +top-level:\n((?: +- .*\n)+)", text, re.MULTILINE)
        if name and modules:
            for module in re.findall(r"- (\S+)", modules[1]):
                offers.setdefault(module, set()).add(normal(name[1]))
    return offers


def of_pants(clone: Clone) -> Offers:
    """A table in Python: distribution, its modules."""
    path = "src/python/pants/backend/python/dependency_inference/default_module_mapping.py"
    offers: Offers = {}
    for statement in ast.parse(clone.read(path)).body:
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == "DEFAULT_MODULE_MAPPING":
            for distribution, modules in ast.literal_eval(statement.value).items():
                for module in modules:
                    offers.setdefault(module, set()).add(normal(distribution))
    return offers


class Choices:
    """What choices.txt says."""

    def __init__(self, text: str) -> None:
        self.chosen: dict[str, str] = {}
        self.sentences: list[tuple[list[str], str]] = []
        self.left_out: set[str] = set()
        self.namespaces: list[tuple[str, str, str]] = []
        for line in text.splitlines():
            if line and not line.startswith("#"):
                self._read(line)

    def _read(self, line: str) -> None:
        names, bang, sentence = line.partition(" ! ")
        words = line.split(" ")
        if bang:
            self.sentences.append((names.split(" "), sentence))
        elif len(words) == 2 and words[1] == "-":
            self.left_out.add(words[0])
        elif len(words) == 3 and words[1] == "=":
            if words[0] in self.chosen:
                sys.exit(f"choices.txt: two lines for {words[0]}")
            self.chosen[words[0]] = words[2]
        elif len(words) == 3 and words[1] in "._":
            self.namespaces.append((words[0], words[1], words[2]))
        else:
            sys.exit(f"choices.txt: cannot read {line!r}")


def table(choices: Choices, sources: list[Offers], ranks: dict[str, int]) -> dict[str, str]:
    """Return what to write for each import name."""
    entries: dict[str, str] = {}
    for offers in sources:
        for name, distributions in offers.items():
            known = [distribution for distribution in distributions if distribution in ranks]
            if name in entries:
                known.append(entries[name])
            if known and not name.startswith("_") and name not in choices.left_out:
                entries[name] = min(known, key=ranks.__getitem__)
    for namespace, joint, prefix in choices.namespaces:
        for distribution in ranks:
            rest = distribution.removeprefix(prefix + "-")
            if rest == distribution or rest.endswith("stubs"):
                continue
            entries[f"{namespace}.{rest.replace('-', joint)}"] = distribution
            if joint == "_":
                entries.setdefault(f"{namespace}.{rest.replace('-', '')}", distribution)
    entries |= choices.chosen
    unknown = [name for name, requirement in entries.items() if bare(requirement) not in ranks]
    if unknown:
        sys.exit(f"choices.txt: not among the most downloaded: {unknown}")
    entries = {
        name: distribution
        for name, distribution in entries.items()
        if name.partition(".")[0] not in sys.stdlib_module_names and ("." in name or normal(name) != distribution)
    }
    for names, sentence in choices.sentences:
        for name in names:
            theirs = [other for other, distribution in entries.items() if "=" + distribution == name]
            entries |= {other: "!" + sentence.replace("{}", other) for other in theirs or [name]}
    return entries


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    popular = most_downloaded(Clone(folder / "top-pypi-packages"))
    choices = Choices((HERE / "choices.txt").read_text(encoding="utf-8"))
    sources = [
        of_typeshed(Clone(folder / "typeshed")),
        of_pyodide(Clone(folder / "pyodide-recipes")),
        of_pants(Clone(folder / "pants")),
    ]
    if not all(sources) or len(popular) < POPULAR:
        sys.exit("a source gave nothing: has its form changed?")
    entries = table(choices, sources, {name: rank for rank, name in enumerate(popular)})
    if len(entries) < ENTRIES:
        sys.exit(f"only {len(entries)} import names: has a source changed its form?")
    lines = [f"{name}\t{entries[name]}\n" for name in sorted(entries)]
    (HERE / "imports.txt").write_text("".join(lines), encoding="utf-8")
    (HERE / "popular.txt").write_text("".join(f"{name}\n" for name in popular[:POPULAR]), encoding="utf-8")


if __name__ == "__main__":
    main()
