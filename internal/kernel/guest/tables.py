"""pandas tables as text and as Markdown: a preview of 60 rows and 20 columns with the shape, however large they are."""

from pristine import BUILTINS as __builtins__  # isort: skip

from interrupts import Interrupts
from pristine import MODULES
from text import bounded

#: The preview: rows, half of them from the end, and columns likewise.
_ROWS = 60
_COLUMNS = 20
#: Longest text of a cell, in characters.
_CELL = 1_000


class Tables:
    """Makes texts of at most about `limit` bytes."""

    def __init__(self, limit: int, interrupts: Interrupts) -> None:
        self._limit = limit
        self._interrupts = interrupts

    def render(self, value: object) -> tuple[str, dict | None] | None:
        """Return text and Markdown fields of a DataFrame or Series, or None for another value. May raise anything."""
        pandas = MODULES.get("pandas")
        if pandas is None or not isinstance(value, (pandas.DataFrame, pandas.Series)):
            return None
        text = self._text(pandas, value)
        rows, columns = value.shape if isinstance(value, pandas.DataFrame) else (len(value), 1)
        if not columns:
            return text, None
        try:
            grid, longest = self._grid(pandas, value, rows, columns)
        except Exception as error:  # hostile cells, a broken subclass: the text must do
            if error is self._interrupts.raised:
                raise
            return text, None
        if longest > _CELL:
            text += f"\n(cells are cut at {_CELL:,} characters; the longest shown has {longest:,})"
        markdown = _markdown(grid, self._limit)
        return text, {"markdown": markdown, "rows": rows, "columns": columns} if markdown else None

    def install(self, pandas) -> None:
        """Make print() of a table show whole cells, when pandas has just been imported."""
        pandas.set_option("display.max_colwidth", _CELL)

    def _text(self, pandas, value) -> str:
        with pandas.option_context("display.max_colwidth", _CELL):
            if isinstance(value, pandas.DataFrame):
                return value.to_string(max_rows=_ROWS, max_cols=_COLUMNS, show_dimensions=True)
            return value.to_string(max_rows=_ROWS, length=True, dtype=True, name=True)

    def _grid(self, pandas, value, rows: int, columns: int) -> tuple[list[list[str]], int]:
        """Return header and rows of the preview as strings, and the length of the longest cell."""
        frame = value.to_frame() if isinstance(value, pandas.Series) else value
        cut_rows, cut_columns = rows > _ROWS, columns > _COLUMNS
        if cut_rows:
            frame = frame.iloc[[*range(_ROWS // 2), *range(rows - _ROWS // 2, rows)]]
        if cut_columns:
            frame = frame.iloc[:, [*range(_COLUMNS // 2), *range(columns - _COLUMNS // 2, columns)]]
        index = frame.index
        levels = [index.get_level_values(level) for level in range(index.nlevels)]
        body = [[_Cell(item) for item in level.tolist()] for level in levels]
        for at in range(frame.shape[1]):
            column = frame.iloc[:, at]
            if column.dtype.kind == "M":  # dates without the times that none of them has
                column = column.astype(str).where(column.notna(), "NaT")
            body.append([_Cell(item) for item in column.tolist()])
        header = ["" if level.name is None else _plain(level.name) for level in levels]
        header += [_label(name) for name in frame.columns.tolist()]
        longest = max((cell.length for column in body for cell in column), default=0)
        grid = [[cell.text for cell in row] for row in zip(*body, strict=True)]
        if cut_columns:
            at = len(levels) + _COLUMNS // 2
            for row in (header, *grid):
                row.insert(at, "…")
        if cut_rows:
            grid.insert(_ROWS // 2, ["…"] * len(header))
        return [header, *grid], longest


class _Cell:
    """The text of one value."""

    def __init__(self, value: object) -> None:
        text = _plain(value)
        self.length = len(text)
        self.text = text if self.length <= _CELL else f"{text[:_CELL]}… ({self.length:,} characters)"


def _plain(value: object) -> str:
    if type(value) is float:
        if value != value:
            return "NaN"
        if value == 0 or 1e-4 <= abs(value) < 1e15:
            text = f"{value:.6f}".rstrip("0")
            return text + "0" if text.endswith(".") else text
        return f"{value:.6g}"
    return str.__str__(str(value))


def _label(name: object) -> str:
    return " / ".join(_plain(part) for part in name) if isinstance(name, tuple) else _plain(name)


def _markdown(grid: list[list[str]], limit: int) -> str:
    """Return a Markdown table of at most limit bytes, with rows left out of its middle if need be; '' if none fits."""
    head = [_row(grid[0]), "|" + " --- |" * len(grid[0])]
    body = [_row(row) for row in grid[1:]]
    gap = _row(["…"] * len(grid[0]))
    size = sum(map(_bytes, (*head, gap, *body)))
    if size > limit:
        while size > limit and len(body) > 2:
            size -= _bytes(body.pop(len(body) // 2))
        body.insert(len(body) // 2, gap)
    text, omitted = bounded("\n".join((*head, *body)), limit)
    return "" if omitted else text


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace")) + 1


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(map(_escape, cells)) + " |"


def _escape(cell: str) -> str:
    cell = cell.replace("\\", "\\\\").replace("|", "\\|")
    return cell.replace("\r\n", "⏎").replace("\n", "⏎").replace("\r", "⏎")
