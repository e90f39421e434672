"""How a value is shown: as a picture, a file, a table or text. Also the function `display` of the chat."""

from pristine import BUILTINS as __builtins__  # isort: skip

import builtins
import sys

from figures import Figures
from interrupts import Interrupts
from pictures import Pictures
from tables import Tables
from text import bounded, class_name, full_class_name, line
from values import Values
from webplots import WebPlots

#: Types that are nothing but text.
_SIMPLE = frozenset((int, float, complex, bool, str, bytes, type(None), range, dict, set, frozenset))


class Display:
    """Shows the values of one chat."""

    def __init__(self, options: dict, interrupts: Interrupts, pictures: Pictures) -> None:
        self._limit = options.get("value_bytes", 65_536)
        self._interrupts = interrupts
        self._pictures = pictures
        self.figures = Figures(pictures, interrupts)
        self.webplots = WebPlots(pictures)
        self.tables = Tables(self._limit, interrupts)
        self._values = Values(self._limit, interrupts)
        builtins.display = self.display

    def describe(self, value: object) -> tuple[dict | None, dict | None]:
        """Show value; return the fields `value` and `table` of `done`, None where there is nothing to tell.

        Raises only an interrupt.
        """
        kind = type(value)
        if kind not in _SIMPLE:
            try:
                seen = self._interrupts.call(self._special, value)
            except BaseException as error:
                if error is self._interrupts.raised:
                    raise
                problem = f"{full_class_name(type(error))}: {self._message(error)}"
                self._pictures.note(f"the {class_name(kind)} could not be drawn: {problem}")
                seen = None
            if seen is not None:
                text, table = seen
                return text and self._fields(kind, *bounded(text, self._limit)), table
        return self._fields(kind, *self._values.text(value)), None

    def _special(self, value: object) -> tuple[str | None, dict | None] | None:
        """Show value otherwise than by its repr, or return None."""
        if self.figures.offer(value) or self._pictures.offer(value) or self.webplots.offer(value):
            return None, None
        return self.tables.render(value)

    def _fields(self, kind: type, text: str, omitted: int) -> dict:
        return {"text": text, "type": class_name(kind), "omitted": omitted}

    def _message(self, error: BaseException) -> str:
        try:
            return line(self._interrupts.call(str, error))
        except Exception as problem:
            if problem is self._interrupts.raised:
                raise
            return "?"

    def display(self, *values: object, **options: object) -> None:
        """Show values as the last value of a run is shown: pictures as pictures, all else as text on stdout."""
        for value in values:
            shown, _ = self.describe(value)
            if shown:
                print(shown["text"], file=sys.stdout)
