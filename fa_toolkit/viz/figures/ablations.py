"""What is left of a kernel's speed when one thing about it is changed: recorded ablations as bars."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...errors import ArgumentError
from ...language import Text, say
from ...measured import Ablated, Speed, variant_label
from ...measured.variants import is_launch
from .. import taking
from ..numbers import plain
from ..palette import Theme, colour
from .canvas import axes, bare, headline, sentences, sheet, source
from .rates import MASK, PASS, rated

_TITLE = Text(
    "One change at a time: {pass_}, B = {b}, H = {h}, N = {n}, D = {d}, {mask}",
    "每次只改一处：{pass_}，B = {b}，H = {h}，N = {n}，D = {d}，{mask}",
)
_FINDING = Text(
    "As shipped{launch}: {rate} TFLOP/s. The costliest change leaves {share}: {worst}.",
    "原样{launch}：{rate} TFLOP/s。损失最大的一处只剩 {share}：{worst}。",
)
_LAUNCH = Text(" ({what})", "（{what}）")
_TOO_MUCH = Text(
    "does not start: {needed:.0f} KiB of shared memory, there are {limit:.0f}",
    "启动不了：要 {needed:.0f} KiB 共享内存，只有 {limit:.0f}",
)
_NO_KERNEL = Text("does not start", "启动不了")
_BASE = Text("100%: as shipped", "100%：原样")
_SHARED = re.compile(r"Required: (\d+), Hardware limit: (\d+)")
_ROWS = Text("ablations of a run", "一次测量里的消融")
_ROW, _GAP = 0.29, 0.5  # inches of a bar; rows between two kinds of change


@taking.takes(rows=taking.are("changed", "shipped", of=_ROWS), where=taking.words)
def ablation_bars(
    rows: Sequence[Ablated],
    *,
    where: str | Callable[[], str] = "",
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Speed of each changed kernel as a share of the shipped one.

    Changes of the source come first, then tiles, warps, stages; of each kind the costliest first.

    Args:
        rows: of one pass and one case, as `measured.ablations` gives them. Tiles, warps and stages
            that the shipped kernel has anyway are named in the headline instead.
        where: the line under the figure, as in `rate_lines`.

    Raises:
        ArgumentError: without rows that have a rate, or with those of several cases.
    """
    cases = {_case(each) for row in rows for each in (row.changed, row.shipped)}
    shown = sorted((row for row in rows if row.shipped.rate and not row.same), key=_order)
    timed = [row for row in shown if row.share]
    if len(cases) != 1 or not timed or "decode" in next(iter(cases)):
        expected = Text(
            "rows of one pass and one case, some with a rate", "同一阶段、同一情形的数据，且有速率"
        )
        raise ArgumentError("rows", expected=expected, got=str(len(cases)))
    base, p = shown[0].shipped, shown[0].shipped.problem
    kinds = list(dict.fromkeys(_kind(row) for row in shown))
    places = [at + _GAP * kinds.index(_kind(row)) for at, row in enumerate(shown)]
    worst = min(timed, key=lambda row: row.share or 0.0)
    with sheet(9.6, 1.6 + _ROW * (places[-1] + 1), theme=theme, lang=lang, figure=figure) as page:
        headline(page, _TITLE, _FINDING, pass_=say(PASS[base.pass_]).lower(), b=p.batch, h=p.heads_q,
                 n=f"{p.len_k:,}", d=p.head_dim, mask=say(MASK[p.causal]), launch=_launch(rows),
                 rate=plain(base.rate or 0.0), share=f"{worst.share:.0%}",
                 worst=variant_label(worst.changed.variant))  # fmt: skip
        ax = bare(axes(page, 0.27, 0.9, top=0.85, bottom=0.75))
        ax.set_xlim(0, 1.01 * max(1.0, *(row.share or 0.0 for row in timed)))
        ax.set_ylim(places[-1] + 0.6, -0.6)
        ax.axvline(1.0, color=colour("text", theme), lw=1.2, ls=(0, (4, 3)))
        ax.text(1.0, places[-1] + 0.75, say(_BASE), ha="center", va="top", fontsize=10)
        _bars(ax, dict(zip(places, shown, strict=True)), theme)
        source(page, sentences(where))
    return page


def _case(row: Speed) -> tuple[object, ...]:
    """What all rows must have in common, once their rates are rates."""
    rated(row)
    return row.provider, row.pass_, row.problem, row.regime


def _kind(row: Ablated) -> int:
    """0 for a change of the source, then tiles, warps, stages."""
    name = row.changed.variant
    return 1 + ("warps" in name) + 2 * ("stages" in name) if is_launch(name) else 0


def _order(row: Ablated) -> tuple[int, float]:
    """What does not start comes last of its kind."""
    return _kind(row), 2.0 if row.share is None else row.share


def _launch(rows: Sequence[Ablated]) -> str:
    """The tile, warps and stages of the shipped kernel: the changes that changed nothing."""
    same = sorted((row for row in rows if row.same), key=_order)
    names = say(Text(", ", "，")).join(variant_label(row.changed.variant) for row in same)
    return say(_LAUNCH, what=names) if names else ""


def _why(failed: str) -> str:
    found = _SHARED.search(failed)
    if found is None:
        return say(_NO_KERNEL)
    needed, limit = (int(each) / 1024 for each in found.groups())
    return say(_TOO_MUCH, needed=needed, limit=limit)


def _bars(ax: Axes, rows: Mapping[float, Ablated], theme: Theme) -> None:
    for y, row in rows.items():
        soft = colour("soft", theme)
        ax.text(-0.012 * ax.get_xlim()[1], y, variant_label(row.changed.variant), ha="right",
                va="center", parse_math=False)  # fmt: skip
        if row.share is None:
            ax.text(0.01, y, _why(row.changed.failed), va="center", color=soft, fontsize=10)
            continue
        ax.barh(y, row.share, height=0.62, color=soft)
        ax.text(row.share - 0.01, y, f"{row.share:.0%}", ha="right", va="center", fontsize=10,
                color=colour("page", theme))  # fmt: skip
