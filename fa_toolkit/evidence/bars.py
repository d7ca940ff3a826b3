"""One figure for many claims: labelled bars from zero, and the range the article names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..language import Text, say
from ..viz.figures.canvas import axes, headline, sheet, source
from ..viz.numbers import plain
from ..viz.palette import Theme, colour


class Bar(NamedTuple):
    """One bar: its label, its length, the ink's name in the palette, what is written at its end."""

    label: Text | str
    value: float
    ink: str = "soft"
    text: str = ""


def bars(
    title: Text,
    finding: Text,
    rows: Sequence[Bar],
    *,
    axis: Text,
    where: Text,
    band: tuple[float, float] | None = None,
    theme: Theme = "auto",
    **fields: object,
) -> Figure:
    """Horizontal bars with their numbers; `band` is drawn across, as what the article states."""
    height = 1.9 + 0.34 * len(rows)
    with sheet(9.6, height, theme=theme, lang=None) as page:
        headline(page, title, finding, **fields)
        ax = axes(page, 0.3, 0.94, top=0.9, bottom=0.8)
        top = max([bar.value for bar in rows] + ([band[1]] if band else []))
        ax.set_xlim(0, top * 1.14)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.grid(axis="x")
        ax.tick_params(length=0)
        ax.spines["left"].set_color(colour("line", theme))
        ax.set_xlabel(say(axis))
        ax.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10], integer=_counts(rows)))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        if band:
            _band(ax, band, theme)
        ax.set_yticks(range(len(rows)), [say(bar.label) for bar in rows])
        for row, bar in enumerate(rows):
            ink = colour(bar.ink, theme)
            ax.barh(row, bar.value, height=0.56, color=ink, zorder=3)
            number = ax.annotate(bar.text or plain(bar.value), (bar.value, row), (6, 0),
                                 textcoords="offset points", va="center", zorder=5)  # fmt: skip
            if band and band[0] == band[1]:  # a number may stand on the article's line
                number.set_bbox({"fc": colour("page", theme), "ec": "none", "pad": 1.5})
        source(page, where)
    return page


def _counts(rows: Sequence[Bar]) -> bool:
    """Whether the bars count things: then there is nothing between two whole numbers."""
    return all(float(bar.value).is_integer() for bar in rows)


_ARTICLE = Text("the article", "文章的说法")


def _band(ax: Axes, band: tuple[float, float], theme: Theme) -> None:
    low, high = band
    ink = colour("stat", theme)
    if low == high:
        ax.axvline(low, color=ink, lw=1.6, ls=(0, (4, 3)), zorder=4)
    else:
        ax.axvspan(low, high, facecolor=ink, alpha=0.16, lw=0, zorder=1)
    ax.annotate(say(_ARTICLE), ((low + high) / 2, 1), (0, 3), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha="center", va="bottom", color=ink, fontsize=10)  # fmt: skip
