"""matplotlib without a screen: its figures become pictures, each once.

`plt.show()` sends the open figures at once, so that they survive a later
time-out, and closes them; what is still open at the end of a run is sent then.
A figure that is shown again unchanged makes the same bytes and is not sent again.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _io

from interrupts import Interrupts
from pictures import MOST_PIXELS, Pictures
from pristine import MODULES
from text import full_class_name, line

#: Backends that need no screen; every other becomes agg.
_SCREENLESS = frozenset(("agg", "cairo", "pdf", "pgf", "ps", "svg", "template"))
#: Fonts that have Chinese, Japanese and Korean characters, the first that is present is used.
_CJK = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei", "Droid Sans Fallback", "AR PL UMing CN", "IPAGothic", "Unifont",
)  # fmt: skip
#: Artists of one value that are looked at.
_ARTISTS = 1_000


class Figures:
    """Shows figures through `pictures`."""

    def __init__(self, pictures: Pictures, interrupts: Interrupts) -> None:
        self._pictures = pictures
        self._interrupts = interrupts

    def install(self, pyplot) -> None:
        """Take over what needs a screen in matplotlib.pyplot, just imported."""
        switch = pyplot.switch_backend

        def switch_backend(newbackend: str) -> None:
            """Set the pyplot backend; one that needs a screen is replaced by agg."""
            if isinstance(newbackend, str) and newbackend.lower() not in _SCREENLESS:
                self._pictures.note(f"matplotlib's backend {newbackend} needs a screen, agg is used instead")
                newbackend = "agg"
            switch(newbackend)

        def show(*arguments: object, block: bool | None = None, **options: object) -> None:
            """Show all open figures and close them."""
            if block is None or block:  # show(block=False) and pause() leave them open: the end of the run shows them
                self._show_open()

        def show_figure(figure, warn: bool = True) -> None:
            """Show this figure."""
            self._draw(figure)

        pyplot.switch_backend, pyplot.show = switch_backend, show
        MODULES["matplotlib.figure"].Figure.show = show_figure
        _use_fonts(MODULES["matplotlib"], MODULES["matplotlib.font_manager"])

    def warm(self) -> None:
        """Draw and drop a figure, if pyplot is there: backend and fonts are loaded then. May raise anything."""
        pyplot = MODULES.get("matplotlib.pyplot")
        if pyplot is None:
            return
        figure = pyplot.figure()
        try:
            figure.add_subplot().set_title("1")
            self._png(figure, figure.dpi)
        finally:
            pyplot.close(figure)

    def end(self) -> None:
        """Send and close what is still open at the end of a run. Raises only an interrupt."""
        if "matplotlib._pylab_helpers" not in MODULES:
            return
        try:
            self._interrupts.call(self._show_open)
        except Exception as error:
            if error is self._interrupts.raised:
                raise
            self._pictures.note(f"open figures could not be shown: {full_class_name(type(error))}: {line(str(error))}")

    def offer(self, value: object) -> bool:
        """Send value if it is a figure; report whether it is one, or nothing but artists. May raise anything."""
        if "matplotlib.artist" not in MODULES:
            return False
        figure = MODULES.get("matplotlib.figure")
        if figure is not None and isinstance(value, figure.Figure):
            self._draw(value)
            return True
        return self._is_artists(value)

    def _show_open(self) -> None:
        """Send every open figure, in the order of their numbers; close each, also one that cannot be drawn."""
        opened = MODULES["matplotlib._pylab_helpers"].Gcf
        problem = None
        for manager in opened.get_all_fig_managers():
            try:
                if not self._is_blank(manager.canvas.figure):
                    self._draw(manager.canvas.figure)
            except Exception as error:
                if error is self._interrupts.raised:
                    raise
                problem = problem or error
            finally:
                opened.destroy(manager.num)
        if problem is not None:
            raise problem

    @staticmethod
    def _is_blank(figure) -> bool:
        """Report whether nothing was ever drawn: what is left of `plt.figure()` or `plt.clf()`."""
        return len(figure.get_children()) <= 1  # its background

    def _draw(self, figure) -> None:
        """Send one figure, with fewer dots where it is too large."""
        if self._pictures.full():
            return
        wanted = dpi = figure.dpi
        width, height = figure.get_size_inches()
        dpi = min(dpi, (MOST_PIXELS / max(width * height, 1e-9)) ** 0.5, 16_000 / max(width, height, 1e-9))
        data = self._png(figure, dpi)
        while len(data) > self._pictures.most_bytes and dpi > 10:
            dpi *= min(0.7, (self._pictures.most_bytes / len(data)) ** 0.5)
            data = self._png(figure, dpi)
        if dpi < wanted:
            self._pictures.note(
                f"a figure of {width * wanted:,.0f}×{height * wanted:,.0f} pixels is drawn"
                f" at {dpi:.3g} instead of {wanted:g} dots per inch: it is too large"
            )
        self._pictures.send(data, "matplotlib")

    def _png(self, figure, dpi: float) -> bytes:
        """Draw figure; warnings that would name this file as their place become notes."""
        buffer = _io.BytesIO()
        with MODULES["warnings"].catch_warnings(record=True) as caught:
            figure.savefig(buffer, format="png", dpi=dpi, bbox_inches="tight", facecolor=figure.get_facecolor())
        for warning in caught:
            text = str(warning.message)
            if text.startswith("Glyph "):
                text = "some characters of a figure are in none of the fonts and are drawn as boxes"
            self._pictures.note(text)
        return buffer.getvalue()

    def _is_artists(self, value: object) -> bool:
        """Report whether value is what a plot call returns and nobody reads: artists, in lists, tuples or arrays."""
        artist = MODULES["matplotlib.artist"].Artist
        container = getattr(MODULES.get("matplotlib.container"), "Container", ())
        array = getattr(MODULES.get("numpy"), "ndarray", ())
        todo, seen = [value], 0
        while todo:
            item = todo.pop()
            seen += 1
            if seen > _ARTISTS:
                return False
            if isinstance(item, (artist, container)):
                continue
            if isinstance(item, array) and item.dtype == object and 0 < item.size <= _ARTISTS:
                todo += item.ravel().tolist()
            elif type(item) in (list, tuple) and 0 < len(item) <= _ARTISTS:
                todo += item
            else:
                return False
        return True


def _use_fonts(matplotlib, fonts) -> None:
    """Let characters that the first font lacks come from one that has the Chinese, Japanese and Korean ones."""
    present = {font.name for font in fonts.fontManager.ttflist}
    names = matplotlib.rcParamsDefault["font.family"]
    for name in _CJK:
        if name in present:
            for parameters in (matplotlib.rcParams, matplotlib.rcParamsDefault):
                parameters["font.family"] = [*names, name]
            return
