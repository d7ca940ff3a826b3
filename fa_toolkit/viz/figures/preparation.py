"""How ready a learner is, topic by topic, over time. Draws what it is given; judges nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Literal, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...language import Text, say
from ..palette import Theme, colour
from .canvas import axes, headline, sheet, source

Standing = Literal["unseen", "under way", "ready", "blocked"]

_TITLE = Text("Ready, topic by topic", "各主题的准备程度")
_FINDING = Text(
    "{ready} of {total} topics ready; {blocked} blocked by a fatal misconception.",
    "{total} 个主题中 {ready} 个已就绪；{blocked} 个因致命误解受阻。",
)
_NONE = Text("Nothing answered yet.", "还没有作答。")
_STANDINGS = {
    "unseen": Text("not begun", "未开始"),
    "under way": Text("{n} of {needed} answered", "已答 {n} / {needed}"),
    "far enough": Text("under way", "进行中"),
    "ready": Text("✓ ready", "✓ 就绪"),
    "blocked": Text("✗ blocked", "✗ 受阻"),
}
_SOURCE = Text(
    "Score × how likely it is still known (FSRS), times how much of the topic was answered. "
    "Dotted: {ready}, ready. From the first answer to now.",
    "得分 × 仍然记得的可能性（FSRS）× 已答的覆盖程度。虚线：{ready} 分，就绪。从第一次作答到现在。",
)
_TODAY = Text("now", "现在")
_ROW = 0.33


class TopicLine(NamedTuple):
    """One topic as it is drawn.

    Args:
        history: (time, readiness 0..100), oldest first; the last is the present.
        answered: how many questions were answered, of those `needed` for the number to count.
    """

    name: str
    standing: Standing
    score: int
    history: Sequence[tuple[datetime, float]] = ()
    answered: int = 0
    needed: int = 0


def readiness_lines(
    topics: Sequence[TopicLine],
    *,
    total: int | None = None,
    ready: int = 80,
    zone: tzinfo | None = None,
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """A row for each topic: its name, its readiness over time, the number now, where it stands.

    Args:
        total: how many topics there are, if not all are drawn.
        ready: the score from which a topic counts as ready; dotted in each row.
        zone: where the reader is; the system's own zone if None.
    """
    height = 0.85 + 0.75 + _ROW * max(1, len(topics))
    with sheet(9.6, height, theme=theme, lang=lang, figure=figure) as page:
        begun = any(topic.history for topic in topics)
        count = [topic.standing for topic in topics].count
        headline(page, _TITLE, _FINDING if begun else _NONE,
                 ready=count("ready"), total=total or len(topics), blocked=count("blocked"))  # fmt: skip
        ax = axes(page, 0.3, 0.66, top=0.85, bottom=0.75)
        times = [at for topic in topics for at, _ in topic.history]
        span = _span(times)
        for row, topic in enumerate(topics):
            _draw(ax, row, topic, span, ready, theme)
        ax.set(xlim=(0, 1), ylim=(len(topics) - 0.45, -0.55), yticks=[], xticks=[])
        for spine in ax.spines.values():
            spine.set_visible(False)
        if span:
            _dates(ax, span, zone, theme)
        source(page, _SOURCE, ready=ready)
        return page


def _span(times: Sequence[datetime]) -> tuple[datetime, datetime] | None:
    return (min(times), max(times)) if times else None


def _draw(
    ax: Axes,
    row: int,
    topic: TopicLine,
    span: tuple[datetime, datetime] | None,
    ready: int,
    theme: Theme,
) -> None:
    text, soft, line = (colour(name, theme) for name in ("text", "soft", "line"))
    strong = topic.standing in ("ready", "blocked")
    name = text if topic.history else soft
    ax.text(-0.04, row, topic.name, ha="right", va="center", fontsize=10.5, color=name)
    base, tall = row + 0.38, 0.76
    ax.plot([0, 1], [base, base], color=line, linewidth=0.8)
    level = base - tall * ready / 100
    ax.plot([0, 1], [level, level], color=line, linewidth=0.8, linestyle=(0, (1, 3)))
    if topic.history and span:
        width = (span[1] - span[0]).total_seconds() or 1.0
        xs = [(at - span[0]).total_seconds() / width for at, _ in topic.history]
        xs = xs if span[1] > span[0] else [1.0] * len(xs)
        ys = [base - tall * value / 100 for _, value in topic.history]
        ax.fill_between(xs, ys, base, step="post", color=soft, alpha=0.16, linewidth=0)
        ax.step(xs, ys, where="post", color=text if strong else soft, linewidth=1.3)
        ax.plot([xs[-1]], [ys[-1]], "o", markersize=3.5, color=text, clip_on=False)
    weight = "bold" if strong else "normal"
    score = str(topic.score) if topic.history else "–"
    ax.text(1.08, row, score, ha="right", va="center", fontsize=10.5, color=name, weight=weight)
    ax.text(1.11, row, _standing(topic), va="center", fontsize=10, color=text if strong else soft)


def _standing(topic: TopicLine) -> str:
    key: str = topic.standing
    if key == "under way" and topic.answered >= topic.needed:
        key = "far enough"
    return say(_STANDINGS[key], n=topic.answered, needed=topic.needed)


def _dates(ax: Axes, span: tuple[datetime, datetime], zone: tzinfo | None, theme: Theme) -> None:
    first, last = (at.astimezone(zone) for at in span)
    shape = "%Y-%m-%d" if first.date() != last.date() else "%H:%M"
    soft, y = colour("soft", theme), -0.02
    for x, label, side in ((0, first.strftime(shape), "left"), (1, say(_TODAY), "right")):
        ax.text(x, y, label, transform=ax.transAxes, ha=side, va="top", fontsize=9, color=soft)
