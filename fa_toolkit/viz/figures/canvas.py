"""The sheet every figure is drawn on: theme, language, source line. Knows no subject.

A figure with theme "auto" shows itself in a notebook as SVG whose colours are CSS variables, so
that it follows the page's theme; saved to a file it is the light one.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...errors import ArgumentError
from ...language import LANGUAGES, Text, say, using
from ..fonts import drawable_language
from ..palette import RESTING, Theme, check_theme, colour, css_variables, figure_style, themed

_serial = count(1)
_MARGIN = 0.02  # of the width
_SIZE = "max-width: 100%; height: auto; display: block; background: transparent;"


class Sheet(Figure):
    """A matplotlib figure that knows its theme and can show itself on a light or dark page."""

    fa_theme: Theme = "auto"
    fa_alt: str = ""

    def svg(self) -> str:
        """The figure as one `<svg>` element, its ids unique on the page."""
        buffer = io.StringIO()
        with matplotlib.rc_context({"svg.fonttype": "path"}):
            self.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
        text = buffer.getvalue()
        text = text[text.index("<svg") :]
        mark = f"fa{next(_serial)}-"
        text = re.sub(r'\bid="', f'id="{mark}', text)
        text = re.sub(r'href="#', f'href="#{mark}', text)
        text = re.sub(r"url\(#", f"url(#{mark}", text)
        text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
        alt = self.fa_alt.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        return text.replace("<svg ", f'<svg role="img" aria-label="{alt}" style="{_SIZE}" ', 1)

    def html(self) -> str:
        """The figure as HTML that follows the theme of the page it stands on."""
        svg = self.svg()
        if self.fa_theme == "auto":
            style = css_variables(".fa-figure")
            return f'<div class="fa-figure"><style>{style}</style>{themed(svg)}</div>'
        page = colour("page", self.fa_theme)
        return f'<div class="fa-figure" style="background: {page}">{svg}</div>'

    def _repr_html_(self) -> str:
        return self.html()

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        """As matplotlib's; a figure of theme "auto" gets the light page, unless transparent."""
        if self.fa_theme == "auto" and not kwargs.get("transparent"):
            kwargs.setdefault("facecolor", colour("page", "light"))
        super().savefig(fname, **kwargs)


@contextmanager
def sheet(
    width: float,
    height: float,
    *,
    theme: Theme,
    lang: str | None,
    figure: Figure | None = None,
) -> Iterator[Sheet]:
    """A blank sheet in inches; inside the block `say` speaks a language our fonts can draw.

    Args:
        figure: an earlier sheet to wipe and draw on again, for sliders.
    """
    check_theme(theme)
    if lang is not None and lang not in LANGUAGES:
        raise ArgumentError("lang", expected=" | ".join(LANGUAGES), got=repr(lang))
    if figure is not None and not isinstance(figure, Sheet):
        expected = Text("a figure that a function of fa.viz made", "由 fa.viz 的函数画出的图")
        raise ArgumentError("figure", expected=expected, got=type(figure).__name__)
    style: Any = figure_style(theme)
    with using(drawable_language(lang)), matplotlib.rc_context(style):
        page = figure if isinstance(figure, Sheet) else Sheet(figsize=(width, height))
        page.clear()
        page.set_size_inches(width, height)
        page.set_facecolor(matplotlib.rcParams["figure.facecolor"])
        page.fa_theme = theme
        yield page


def headline(page: Sheet, title: Text, finding: Text, /, **fields: object) -> None:
    """Title and, under it, the one sentence the figure shows. Both also serve as its alt text."""
    height = page.get_size_inches()[1]
    name, sentence = say(title, **fields), say(finding, **fields)
    page.text(
        _MARGIN, 1 - 0.14 / height, name, va="top", fontsize=13.5, weight="bold", parse_math=False
    )
    page.text(_MARGIN, 1 - 0.44 / height, sentence, va="top", fontsize=11, parse_math=False)
    page.fa_alt = f"{name}. {sentence}"


def source(page: Sheet, text: Text, /, **fields: object) -> None:
    """The small line under the figure that says where its numbers come from; two if it is long."""
    soft, height = colour("soft", page.fa_theme), page.get_size_inches()[1]
    drawn = page.text(_MARGIN, 0.12 / height, say(text, **fields), va="bottom", fontsize=9,
                      color=soft, parse_math=False)  # fmt: skip
    if drawn.get_window_extent().x1 > (1 - _MARGIN) * page.bbox.width:
        drawn.set_text(_in_two(drawn.get_text()))


def _in_two(line: str) -> str:
    """The line broken after the sentence that makes the longer of the two lines shortest."""
    ends = [end.end() for end in re.finditer(r"\. |。", line)]
    longer = {max(end, len(line) - end): end for end in ends}
    if not longer:
        return line
    end = longer[min(longer)]
    return f"{line[:end].rstrip()}\n{line[end:]}"


def sentences(*given: str | Callable[[], str]) -> Text:
    """What stands under the figure, as sentences, already in words."""
    parts = [str(part() if callable(part) else part) for part in given]
    return Text(
        ". ".join(part for part in parts if part), "。".join(part for part in parts if part)
    )


def axes(
    page: Sheet, left: float, right: float, *, top: float = 0.95, bottom: float = 0.75
) -> Axes:
    """Axes between `left` and `right` (fractions), `top` and `bottom` inches from the edges."""
    height = page.get_size_inches()[1]
    return page.add_axes((left, bottom / height, right - left, 1 - (top + bottom) / height))


def bare(ax: Axes) -> Axes:
    """`ax` without frame and ticks."""
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def resting(name: str, theme: Theme) -> tuple[str, float]:
    """Colour and opacity of what rests in HBM."""
    return colour(name, theme), RESTING
