"""Comes before each check, in a guest of its own: gives it what it judges, and words to judge it by.

The files and texts here come from a model and from code that it has written. Nothing of them is
imported or run.
"""

import sys

sys.path[:] = [place for place in sys.path if place not in ("", "/work")]

import json
import re
import shutil
import tempfile
from pathlib import Path

#: More numbers than that are no answer: one of them would be right by chance.
_MOST_NUMBERS = 100
#: Characters of a text that a message of an assertion quotes.
_QUOTED = 200


def _receive() -> list:
    """Return the turns, with their pictures as paths of files that are not in /work."""
    here = Path(".runpython-eval")
    there = Path(tempfile.mkdtemp())
    for file in here.iterdir():
        shutil.move(file, there / file.name)
    here.rmdir()
    all_turns = json.loads((there / "turns.json").read_text(encoding="utf-8"))
    for number, turn in enumerate(all_turns):
        pictures = there.glob(f"{number}-*.image")
        turn["images"] = sorted(pictures, key=lambda p: int(p.stem.partition("-")[2]))
    return all_turns


turns = _receive()
answer, output = turns[-1]["answer"], turns[-1]["output"]
runs, images = turns[-1]["runs"], turns[-1]["images"]
shown = output + "\n" + answer


def _quote(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"


def numbers(text: str) -> list[float]:
    """Return the numbers in text; 1,234 is 1234, and also 1 and 234."""
    plain = re.findall(r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text)
    grouped = re.findall(r"(?<![\w.,])[-−]?\d{1,3}(?:[,_']\d{3})+(?:\.\d+)?(?![\w,])", text)
    return [float(re.sub(r"[,_']", "", n).replace("−", "-")) for n in plain + grouped]


def expect_number(wanted: float, within: float = 1e-9, text: str | None = None) -> None:
    """Assert that a number stands in text, or in what is shown."""
    found = numbers(shown if text is None else text)
    assert len(found) <= _MOST_NUMBERS, f"{len(found)} numbers are shown, among which {wanted} may be by chance"
    if not any(abs(n - wanted) <= within for n in found):
        raise AssertionError(f"no {wanted} in: {_quote(shown if text is None else text)}")


def expect_text(*wanted: str, text: str | None = None) -> None:
    """Assert that each of some texts stands in text, or in what is shown; case and white space do not count."""
    plain = " ".join((shown if text is None else text).split()).casefold()
    for part in wanted:
        if " ".join(part.split()).casefold() not in plain:
            raise AssertionError(f"no {part!r} in: {_quote(plain)}")


def expect_order(*wanted: str) -> None:
    """Assert that texts stand in what is shown, one after the other."""
    plain, at = " ".join(shown.split()).casefold(), 0
    for part in wanted:
        found = plain.find(part.casefold(), at)
        if found < 0:
            raise AssertionError(f"{', '.join(wanted)} are not shown in this order: {_quote(plain)}")
        at = found + len(part)


def expect_file(name: str) -> Path:
    """Assert that there is a file with something in it, and return its path."""
    path = Path(name)
    there = ", ".join(sorted(str(p) for p in Path().rglob("*") if p.is_file()))
    if not path.is_file():
        raise AssertionError(f"there is no file {name}, only: {_quote(there) or 'none'}")
    assert path.stat().st_size > 0, f"{name} is empty"
    return path


def expect_picture(path: Path | str | None = None) -> tuple[int, int]:
    """Assert that a picture is there, a file or one that was shown, and is not all of one colour; return its size."""
    from PIL import Image

    if path is None:
        assert images, "no picture was shown"
        path = images[-1]
    else:
        path = expect_file(str(path))
    with Image.open(path) as picture:
        picture.load()
        extrema = picture.convert("RGB").getextrema()
        assert any(low < high for low, high in extrema), "the picture is all of one colour"
        return picture.size
