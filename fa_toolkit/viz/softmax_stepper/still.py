"""The step on show as a figure: for slides, and where no browser draws the stepper."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ...language import Text, say
from ..figures.canvas import Sheet, axes, bare, sheet, source
from ..palette import RESTING, Theme, colour
from .frames import Frame, Run, View
from .sentences import formula, number, sentence, small
from .words import UI

_STEP = Text("step {n} of {total}", "第 {n} 步，共 {total} 步")
_SOURCE = Text(
    "Computed by fa_toolkit.reference and tiled.SoftmaxState. Played as: {view}.",
    "由 fa_toolkit.reference 和 tiled.SoftmaxState 算出。播放方式：{view}。",
)
_INKS = {"p": "s", "acc": "o", "o": "o"}


def still(run: Run, view: View, step: int, *, theme: Theme, lang: str) -> Sheet:
    """One step as a figure."""
    frame = run.views[view][step]
    with sheet(9.6, 5.4, theme=theme, lang=lang) as page:
        sentence_ = sentence(run, view, frame).replace("*", "")
        place = say(_STEP, n=step + 1, total=len(run.views[view]))
        title = f"{say(UI['title'])}   {place}"
        page.text(0.02, 1 - 0.14 / 5.4, title, va="top", fontsize=13.5, weight="bold")
        page.text(0.02, 1 - 0.46 / 5.4, sentence_, va="top", fontsize=11)
        page.fa_alt = f"{title}. {sentence_}"
        _row(bare(axes(page, 0.02, 0.87, top=1.15, bottom=3.05)), run, frame, theme)
        _terms(bare(axes(page, 0.02, 0.87, top=2.8, bottom=1.72)), run, view, frame, theme)
        for i, (name, text, lit) in enumerate(formula(run, view, frame)):
            y = (1.42 - 0.235 * i) / 5.4
            page.text(0.075, y, f"{name}:", ha="right", weight="bold", fontsize=10.5,
                      color=colour(_INKS.get(name, "stat"), theme))  # fmt: skip
            ink = colour("text" if lit else "soft", theme)
            page.text(0.085, y, text.replace("*", ""), fontsize=10, color=ink)
        source(page, _SOURCE, view=say(UI[view]))
    return page


def _bar(ax: Axes, i: int, height: float, ink: str, *, on: bool) -> None:
    face: Any = ink if on else (ink, RESTING)
    ax.add_patch(Rectangle((i - 0.31, 0), 0.62, height, fc=face, ec=ink, lw=1.2,
                 ls="-" if on else (0, (3, 3))))  # fmt: skip


def _cuts(ax: Axes, run: Run, theme: Theme) -> None:
    for stop in [sum(run.blocks[: i + 1]) for i in range(len(run.blocks) - 1)]:
        ax.axvline(stop - 0.5, color=colour("ghost", theme), lw=1.2, ls=(0, (3, 3)))
    ax.axhline(0, color=colour("line", theme), lw=1)
    ax.set_xlim(-0.5, max(len(run.x), 4) - 0.4)


def _row(ax: Axes, run: Run, frame: Frame, theme: Theme) -> None:
    """The scores, and how far the maximum has looked."""
    high, low = max(0.0, *run.x), min(0.0, *run.x)
    span = high - low or 1.0
    ax.set_ylim(low - 0.02 * span, high + 0.22 * span)
    ax.set_title(say(UI["scores"]), fontsize=10, weight="bold", color=colour("s", theme))
    _cuts(ax, run, theme)
    for i, value in enumerate(run.x):
        _bar(ax, i, value, colour("s", theme), on=frame.start <= i < frame.stop)
        ax.text(i, max(value, 0) + 0.04 * span, number(value), ha="center", fontsize=9.5)
    if frame.m is not None:
        stat = colour("stat", theme)
        ax.axhline(frame.m, color=stat, lw=1.6)
        ax.text(1.005, frame.m, f"m = {number(frame.m)}", va="center", color=stat, weight="bold",
                transform=ax.get_yaxis_transform())  # fmt: skip


def _terms(ax: Axes, run: Run, view: View, frame: Frame, theme: Theme) -> None:
    """The terms gathered so far, and the same of the whole row once done."""
    ends = frame.kind in ("done", "write")
    name = "probabilities" if ends else "own_terms" if view == "merged" else "terms"
    ax.set_ylim(0, 1.25)
    ax.set_title(say(UI[name]), fontsize=10, weight="bold", color=colour("s", theme))
    _cuts(ax, run, theme)
    for i, term in enumerate(frame.terms):
        if term is None:
            continue
        on = frame.kind == "done" or frame.start <= i < frame.stop
        _bar(ax, i, term, colour("s", theme), on=on)
        ax.text(i, term + 0.05, small(term), ha="center", fontsize=9.5)
        if frame.kind == "done":
            ax.plot([i - 0.38, i + 0.38], [run.whole[i]] * 2, color=colour("focus", theme), lw=1.6)
    if frame.l is not None:
        ax.text(1.005, 0.6, f"l = {number(frame.l)}", color=colour("stat", theme), weight="bold",
                va="center", transform=ax.get_yaxis_transform())  # fmt: skip
