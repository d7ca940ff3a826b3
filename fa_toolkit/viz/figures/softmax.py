"""Online softmax over one row as a still: the state after every block, then the probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...language import Text, say
from ..numbers import plain
from ..palette import RESTING, Theme, colour
from ..softmax_stepper.frames import Frame, Run, run
from ..softmax_stepper.row import read_blocks, read_row
from .canvas import Sheet, axes, bare, headline, sheet, source

MOST_BLOCKS = 4

_TITLE = Text("Softmax of [{row}] in blocks", "分块计算 [{row}] 的 softmax")
_FINDING = Text(
    "Each time the maximum grows, one factor repairs all earlier terms; the end is the whole row’s.",
    "最大值每变大一次，一个因子就把之前各项全部改对；最后与整行的结果相同。",
)
_AFTER = Text("after block {n}", "第 {n} 块之后")
_DONE = Text("divided by l", "除以 l")
_FACTOR = Text("earlier terms × {factor}", "之前各项 × {factor}")
_FIRST = Text("no earlier terms", "之前没有项")
_EXACT = Text("largest difference to the whole row: {gap}", "与整行结果的最大差：{gap}")
_SOURCE = Text(
    "Computed by fa_toolkit.reference. Solid: this block. Dashed: earlier terms, kept only as their sum l.",
    "由 fa_toolkit.reference 算出。实心：这一块；虚线：之前各项，只留下它们的和 l。",
)


def softmax_bars(
    x: str | Sequence[float] = (1, 2, 3, 4),
    blocks: str | int | Sequence[int] = 2,
    *,
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """The terms e^(x - m) after each block side by side, with m, l and the factor under them.

    Args:
        blocks: how many blocks, or the length of each. Of more than four the last four are drawn.

    Raises:
        ArgumentError: if the row or the blocks cannot be drawn.
    """
    row = read_row(x)
    steps = run(row, read_blocks(blocks, len(row)))
    shown = [frame for frame in steps.frames if frame.kind in ("add", "done")][-MOST_BLOCKS - 1 :]
    with sheet(9.6, 3.9, theme=theme, lang=lang, figure=figure) as page:
        headline(page, _TITLE, _FINDING, row=", ".join(plain(v, 4) for v in row))
        width = 0.96 / len(shown)
        for index, frame in enumerate(shown):
            left = 0.02 + index * width
            ax = bare(axes(page, left, left + width * 0.88, top=1.35, bottom=1.3))
            _bars(ax, steps, frame, theme)
            _state(page, left, steps, frame, theme)
        source(page, _SOURCE)
    return page


def _bars(ax: Axes, steps: Run, frame: Frame, theme: Theme) -> None:
    ink, soft = colour("p", theme), colour("soft", theme)
    done = frame.kind == "done"
    name = say(_DONE) if done else say(_AFTER, n=frame.block + 1)
    ax.set_title(name, fontsize=11, weight="bold", pad=16)
    ax.set_xlim(-0.5, len(steps.x) - 0.5)
    ax.set_ylim(0, 1.1)
    ax.axhline(0, color=colour("line", theme), lw=1)
    roomy = len(steps.x) <= 5
    for i, term in enumerate(frame.terms):
        ax.text(i, -0.05, plain(steps.x[i]) if roomy else "", ha="center", va="top", color=soft)
        if term is None:
            continue
        on_chip = done or frame.start <= i < frame.stop
        face = ink if on_chip else (ink, RESTING)
        ax.bar(i, term, width=0.62, facecolor=face, edgecolor=ink, lw=1.2,
               ls="-" if on_chip else (0, (3, 3)))  # fmt: skip
        if roomy or term == max(t for t in frame.terms if t is not None):
            ax.text(i, term + 0.03, plain(term), ha="center", fontsize=9.5)
    for stop in [sum(steps.blocks[: i + 1]) for i in range(len(steps.blocks) - 1)]:
        ax.axvline(stop - 0.5, color=colour("ghost", theme), lw=1.2, ls=(0, (3, 3)))


def _state(page: Sheet, left: float, steps: Run, frame: Frame, theme: Theme) -> None:
    stat, height = colour("stat", theme), page.get_size_inches()[1]
    assert frame.m is not None and frame.l is not None
    if frame.kind == "done":
        note = say(_EXACT, gap=f"{steps.gap:.0e}" if steps.gap else "0")
        page.text(left, 0.72 / height, note, fontsize=9.5, wrap=True, color=colour("soft", theme))
        return
    line = f"m = {plain(frame.m, 4)}    l = {plain(frame.l, 4)}"
    page.text(left, 0.72 / height, line, color=stat, weight="bold")
    repaired = frame.factor is not None
    note = say(_FACTOR, factor=plain(frame.factor or 0, 4)) if repaired else say(_FIRST)
    page.text(
        left, 0.47 / height, note, fontsize=10, color=stat if repaired else colour("soft", theme)
    )
