"""plotly and altair draw in a browser: their figures become HTML files in the working directory."""

from pristine import BUILTINS as __builtins__  # isort: skip

import posix

from pictures import Pictures
from pristine import MODULES

_stat = posix.stat
_MOST_FILES = 1_000


class WebPlots:
    """Writes `plot-N.html` files and tells of them in notes."""

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures

    def offer(self, value: object) -> bool:
        """Write value if it is a figure of plotly or altair; report whether it is one."""
        plotly = getattr(MODULES.get("plotly.basedatatypes"), "BaseFigure", None)
        if plotly is not None and isinstance(value, plotly):
            self._plotly(value)
            return True
        altair = getattr(MODULES.get("altair"), "TopLevelMixin", None)
        if altair is not None and isinstance(value, altair):
            self._altair(value)
            return True
        return False

    def install_plotly(self, renderers) -> None:
        """Make show() of plotly, whose module io._renderers was just imported, write a file."""

        def show(fig, renderer: object = None, validate: bool = True, **options: object) -> None:
            """Write the figure to an HTML file."""
            base = MODULES["plotly.basedatatypes"].BaseFigure
            self._plotly(fig if isinstance(fig, base) else MODULES["plotly.graph_objs"].Figure(fig))

        renderers.show = show

    def install_altair(self, altair) -> None:
        """Make show() of altair, just imported, write a file."""

        def show(chart, *arguments: object, **options: object) -> None:
            """Write the chart to an HTML file."""
            self._altair(chart)

        altair.TopLevelMixin.show = show

    def _plotly(self, figure) -> None:
        name = _free_name()
        figure.write_html(name, include_plotlyjs=True, full_html=True, auto_open=False)
        self._pictures.note(f"the plot is in the file {name}: open it in a browser")

    def _altair(self, chart) -> None:
        name = _free_name()
        try:
            chart.save(name, format="html", inline=True)
        except (ImportError, ValueError):  # without the package vl-convert-python it cannot be put into the file
            chart.save(name, format="html")
            self._pictures.note(
                f"the chart is in the file {name}: the browser that opens it loads Vega from the network"
            )
            return
        self._pictures.note(f"the chart is in the file {name}: open it in a browser")


def _free_name() -> str:
    """Return the first name of the working directory that no file has."""
    for number in range(1, _MOST_FILES):
        name = f"plot-{number}.html"
        try:
            _stat(name)
        except FileNotFoundError:
            return name
    raise OSError(f"there are {_MOST_FILES - 1} files plot-N.html already")
