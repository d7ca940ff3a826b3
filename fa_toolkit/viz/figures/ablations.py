"""What is left of a kernel's speed when one thing about it is changed: recorded ablations as bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...errors import ArgumentError
from ...language import Text, say
from ...measured import Ablated, variant_label
from ...measured.variants import SHIPPED
from .. import taking
from ..numbers import plain
from ..palette import Theme, colour
from .canvas import axes, bare, headline, sentences, sheet, source
from .rates import MASK, PASS

_TITLE = Text(
    "One change at a time: {pass_}, N = {n}, D = {d}, {mask}",
    "每次只改一处：{pass_}，N = {n}，D = {d}，{mask}",
)
_FINDING = Text(
    "As shipped {rate} TFLOP/s. The worst change leaves {share} of that: {worst}.",
    "原样 {rate} TFLOP/s。最差的一处只剩 {share}：{worst}。",
)
_NO_KERNEL = Text("no kernel: it does not fit", "没有 kernel：放不下")
_SHARE = Text("speed left, as a share of the shipped kernel's", "剩下的速度占原样的多少")
_ROWS = Text("ablations of a run", "一次测量里的消融")
_ROW = 0.29  # inches of a bar


@taking.takes(rows=taking.are("changed", "shipped", of=_ROWS), where=taking.words)
def ablation_bars(
    rows: Sequence[Ablated],
    *,
    where: str | Callable[[], str] = "",
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Speed of each changed kernel as a share of the shipped one, the costliest change on top.

    Args:
        rows: of one pass and one case, as `measured.ablations` gives them. Tiles, warps and stages
            that are those of the shipped kernel are left out.
        where: the line under the figure, as in `rate_lines`.

    Raises:
        ArgumentError: without rows that have a rate, or with those of several cases.
    """
    shown = sorted((r for r in rows if r.shipped.rate and not r.same), key=lambda r: r.share or 0.0)
    cases = {(row.shipped.pass_, row.shipped.problem) for row in shown}
    timed = [row for row in shown if row.share]
    if len(cases) != 1 or not timed:
        expected = Text(
            "rows of one pass and one case, some with a rate", "同一阶段、同一情形的数据，且有速率"
        )
        raise ArgumentError("rows", expected=expected, got=str(len(cases)))
    base, problem = shown[0].shipped, shown[0].shipped.problem
    with sheet(9.6, 1.6 + _ROW * len(shown), theme=theme, lang=lang, figure=figure) as page:
        headline(page, _TITLE, _FINDING, pass_=say(PASS[base.pass_]), n=f"{problem.len_k:,}",
                 d=problem.head_dim, mask=say(MASK[problem.causal]), rate=plain(base.rate or 0.0),
                 share=f"{timed[0].share:.0%}", worst=variant_label(timed[0].changed.variant))  # fmt: skip
        _bars(axes(page, 0.27, 0.93, top=0.85, bottom=0.75), shown, theme)
        source(page, sentences(where))
    return page


def _bars(ax: Axes, rows: Sequence[Ablated], theme: Theme) -> None:
    bare(ax)
    ax.set_xlim(0, 1.01)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.axvline(1.0, color=colour("text", theme), lw=1.2, ls=(0, (4, 3)))
    ax.text(1.0, len(rows) - 0.25, variant_label(SHIPPED), ha="center", va="top", fontsize=10)
    for y, row in enumerate(rows):
        soft = colour("soft", theme)
        ax.text(-0.015, y, variant_label(row.changed.variant), ha="right", va="center")
        if row.share is None:
            ax.text(0.01, y, say(_NO_KERNEL), va="center", color=soft)
            continue
        ax.barh(y, row.share, height=0.62, color=soft)
        ax.text(row.share - 0.01, y, f"{row.share:.0%}", ha="right", va="center", fontsize=10,
                color=colour("page", theme))  # fmt: skip
    ax.text(0, len(rows) - 0.25, say(_SHARE), va="top", fontsize=10, color=colour("soft", theme))
