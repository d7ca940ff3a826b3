"""Cards: small pieces of HTML that follow JupyterLab's theme, with the same text beside them.

A card knows nothing of the course; it escapes what it is given and shows itself.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from ..language import current


class Card:
    """HTML for a notebook, plain text for everything else."""

    def __init__(self, body: str, text: str) -> None:
        self.body, self.text = body, text

    def _repr_html_(self) -> str:
        lang = "zh-Hans" if current() == "zh" else "en"
        return f'<style>{_css()}</style><div class="fa-card" lang="{lang}">{self.body}</div>'

    def __repr__(self) -> str:
        return self.text

    def show(self) -> None:
        """Display in a notebook; print anywhere else."""
        if shell() is None:
            print(self.text)
            return
        from IPython.display import display

        display(self)  # type: ignore[no-untyped-call]


def shell() -> object | None:
    """The IPython of a notebook or console, None in plain Python."""
    import sys

    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    found: object | None = get_ipython()
    return found


@functools.cache
def _css() -> str:
    return Path(__file__).with_name("card.css").read_text(encoding="utf-8")


def head(title: str, *, before: str = "", after: str = "", tone: str = "") -> str:
    """Title line: a small label before, an outcome at the right end."""
    label = f'<span class="fc-soft">{escape(before)}</span>' if before else ""
    end = f'<span class="fc-end fc-outcome fc-{tone}">{escape(after)}</span>' if after else ""
    return f'<div class="fc-head">{label}<span class="fc-title">{escape(title)}</span>{end}</div>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values in two columns."""
    cells = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return f'<dl class="fc-facts">{cells}</dl>'


def note(text: str) -> str:
    """One sentence set apart."""
    return f'<p class="fc-note">{escape(text)}</p>' if text else ""


def rows(items: Sequence[tuple[str, str, str, str]]) -> str:
    """Lines of (mark, tone, label, what was seen)."""
    cells = []
    for mark, tone, label, seen in items:
        small = f"<small>{escape(seen)}</small>" if seen else ""
        cells.append(f'<span class="fc-{tone}">{mark}</span><span>{escape(label)}{small}</span>')
    return f'<div class="fc-rows">{"".join(cells)}</div>' if cells else ""


def foot(text: str, code: str = "") -> str:
    """What to do next, in small type, perhaps with a call to make."""
    call = f" <code>{escape(code)}</code>" if code else ""
    return f'<div class="fc-foot">{escape(text)}{call}</div>'


def bar(done: int, of: int) -> str:
    """A bar from zero; the number stands beside it, never in the bar alone."""
    width = 100 * done / of if of else 0
    return f'<span class="fc-bar"><i style="width: {width:.0f}%"></i></span>'


def strip(cells: Sequence[tuple[str, int, int]], now: str) -> str:
    """One small bar per chapter, the present one marked."""
    parts = []
    for label, done, of in cells:
        here = ' aria-current="step"' if label == now else ""
        parts.append(f"<span{here}>{escape(label)}&ensp;{done}/{of}{bar(done, of)}</span>")
    return f'<div class="fc-strip">{"".join(parts)}</div>' if parts else ""
