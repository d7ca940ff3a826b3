"""Measured rates and measured peak memory against N, one line for each implementation.

Draws rows of `fa_toolkit.measured`, recorded or fresh. What is ours is drawn strong, others in grey
with a mark of their own; names stand at the line ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log2, nan
from numbers import Real
from typing import Any, get_args

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from ...errors import ArgumentError
from ...language import Text, say
from ...measured import Memory, Speed, label
from ...measured.providers import OURS
from ...measured.records import Pass
from .. import taking
from ..numbers import amount, plain
from ..palette import Theme, colour
from .canvas import axes, headline, sentences, sheet, source

PASS = {
    "forward": Text("Forward", "前向"),
    "backward": Text("Backward", "反向"),
    "decode": Text("Decode", "解码"),
    "training": Text("Forward + backward", "前向 + 反向"),
}
MASK = {True: Text("causal", "因果掩码"), False: Text("no mask", "无掩码")}
_TITLE = Text("{pass_}, D = {d}, {mask}, {dtype}", "{pass_}，D = {d}，{mask}，{dtype}")
_FASTEST = Text(
    "At N = {n}, {who} is the fastest: {rate} {unit}.", "N = {n} 时最快的是 {who}：{rate} {unit}。"
)
_OURS = Text(
    "At N = {n}: {name} {mine} {unit}, {share} of {who} ({rate}).",
    "N = {n}：{name} {mine} {unit}，是 {who}（{rate}）的 {share}。",
)
_MEMORY = Text(
    "{pass_}: peak memory above the inputs, B = {batch}, H = {h}, D = {d}, {mask}",
    "{pass_}：输入之外的峰值内存，B = {batch}，H = {h}，D = {d}，{mask}",
)
_GROWTH = Text(
    "From N = {a} to {b}, {least} takes {low} times the memory, {most} {high} times.",
    "N 从 {a} 到 {b}：内存变成 {low} 倍的是 {least}，变成 {high} 倍的是 {most}。",
)
_X = Text("sequence length N (log scale)", "序列长度 N（对数刻度）")
_BYTES = Text("bytes (log scale)", "字节（对数刻度）")
_CEILINGS = {
    "TFLOP/s": (Text("matrix product: {rate}", "矩阵乘：{rate}"), 1e12),
    "GB/s": (Text("HBM, read alone: {rate}", "只读 HBM：{rate}"), 1e9),
}
_GAP = Text("Gaps: not measured, or its rounds disagreed", "断开处：没有测，或几轮之间不一致")
_AT = Text("{value} at {n}", "{n} 时 {value}")
_RIGHT = 0.71  # of the width: names stand beyond
_UNPACED = Text("Hollow marks: timed without pauses", "空心点：计时之间没有停顿")
_MARKS = "os^Dvp<X>Phd*"
_TIGHT = 0.062  # least distance of two names, as a share of the height


_ROWS = Text("rows of a measurement", "测量结果的各行")


def rated(row: Speed) -> Speed:
    """The row, if it is one and its rate is a number above 0 or missing.

    Raises:
        ArgumentError: otherwise.
    """
    if not isinstance(row, Speed):
        raise ArgumentError("rows", expected=_ROWS, got=type(row).__name__)
    rate: Any = row.rate
    if rate is not None and not (isinstance(rate, Real) and 0 < float(rate) < inf):
        expected = Text("a rate above 0, or None", "大于 0 的速率，或 None")
        raise ArgumentError("rows", expected=expected, got=repr(rate))
    if row.pass_ not in PASS:
        raise ArgumentError("rows", expected=" | ".join(get_args(Pass)), got=repr(row.pass_))
    return row


@taking.takes(
    rows=taking.are("provider", "rate", of=_ROWS), ceiling=taking.number, where=taking.words
)
def rate_lines(
    rows: Sequence[Speed],
    *,
    ceiling: float | None = None,
    where: str | Callable[[], str] = "",
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """TFLOP/s (GB/s for decode) against N of rows of one pass, width and mask.

    Args:
        ceiling: of the same device, drawn as a line: FLOP/s of a matrix product; for decode, the bytes
            per second at which it reads HBM.
        where: the line under the figure: device, versions, day; or what says it, in the language
            that the figure can be labelled in.

    Raises:
        ArgumentError: without rows that have a rate, or with rows of several kinds.
    """
    shown = [row for row in rows if rated(row).rate is not None]
    kinds = {(row.pass_, row.problem.head_dim, row.problem.causal) for row in shown}
    if len(kinds) != 1:
        expected = Text("rows of one pass, width and mask", "同一阶段、宽度和掩码的数据")
        raise ArgumentError("rows", expected=expected, got=str(len(kinds)))
    first, unit = shown[0], "GB/s" if shown[0].pass_ == "decode" else "TFLOP/s"
    with sheet(9.6, 4.8, theme=theme, lang=lang, figure=figure) as page:
        sentence, fields = _finding(shown, unit)
        headline(page, _TITLE, sentence, pass_=say(PASS[first.pass_]), d=first.problem.head_dim,
                 mask=say(MASK[first.problem.causal]), dtype=first.problem.dtype, **fields)  # fmt: skip
        ax = axes(page, 0.08, _RIGHT, top=0.9, bottom=0.95)
        lines = _by_provider(shown, lambda row: row.rate)
        top = max(max(ys.values()) for ys, _ in lines.values())
        ns = sorted({row.problem.len_k for row in shown})
        _frame(ax, ns, unit)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        if ceiling is not None:
            words, scale = _CEILINGS[unit]
            top = max(top, ceiling / scale)
            ax.axhline(ceiling / scale, color=colour("soft", theme), lw=1, ls=(0, (4, 3)))
            ax.annotate(say(words, rate=f"{plain(ceiling / scale)} {unit}"), (0, ceiling / scale),
                        (4, 4), xycoords=("axes fraction", "data"), textcoords="offset points",
                        color=colour("soft", theme), fontsize=10)  # fmt: skip
        ax.set_ylim(0, top * 1.12)
        gaps = _draw(ax, lines, ns, theme)
        hollow = say(_UNPACED) if any(row.regime == "unpaced" for row in shown) else ""
        source(page, sentences(where, hollow, say(_GAP) if gaps else ""))
    return page


@taking.takes(rows=taking.are("provider", "mib", of=_ROWS), where=taking.words)
def peak_memory(
    rows: Sequence[Memory],
    *,
    where: str | Callable[[], str] = "",
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Peak memory above the inputs against N, both axes logarithmic, of rows of one pass.

    Raises:
        ArgumentError: without rows that have a number, or with both passes.
    """
    shown = [row for row in rows if row.mib]
    if len({row.pass_ for row in shown}) != 1:
        expected = Text("rows of one pass", "同一阶段的数据")
        raise ArgumentError("rows", expected=expected, got=str(len(shown)))
    lines = _by_provider(shown, lambda row: row.mib * 2**20)
    growth = {name: _growth(ys) for name, (ys, _) in lines.items() if len(ys) > 1}
    ns = sorted({row.problem.len_k for row in shown})
    with sheet(9.6, 4.8, theme=theme, lang=lang, figure=figure) as page:
        least, most = min(growth, key=lambda n: growth[n]), max(growth, key=lambda n: growth[n])
        at = sorted(lines[most][0])
        p = shown[0].problem
        headline(page, _MEMORY, _GROWTH, pass_=say(PASS[shown[0].pass_]), a=f"{at[0]:,}",
                 batch=p.batch, h=p.heads_q, d=p.head_dim, mask=say(MASK[p.causal]),
                 b=f"{at[-1]:,}", least=label(least), most=label(most),
                 low=plain(_growth({n: y for n, y in lines[least][0].items() if n in at})),
                 high=plain(growth[most]))  # fmt: skip
        ax = axes(page, 0.1, _RIGHT, top=0.9, bottom=0.95)
        ax.set_yscale("log")
        _frame(ax, ns, say(_BYTES))
        ax.yaxis.set_major_locator(LogLocator(base=2.0 ** _binary_step(lines), numticks=12))
        ax.yaxis.set_major_formatter(lambda value, _: amount(value))
        gaps = _draw(ax, lines, ns, theme)
        source(page, sentences(where, say(_GAP) if gaps else ""))
    return page


def _finding(rows: Sequence[Speed], unit: str) -> tuple[Text, dict[str, object]]:
    """What the longest sequence shows: ours against the fastest other, else the fastest.

    Rows timed without pauses win only where there are no others.
    """
    longest = max(row.problem.len_k for row in rows)
    last = [row for row in rows if row.problem.len_k == longest]
    others = [row for row in last if row.provider not in OURS] or last
    paced = [row for row in others if row.regime != "unpaced"] or others
    best = max(paced, key=lambda row: row.rate or 0.0)
    own = [row for row in last if row.provider in OURS and row is not best]
    mine = max(own, key=lambda row: row.rate or 0.0, default=None)
    fields: dict[str, object] = {"n": f"{longest:,}", "who": label(best.provider),
                                 "rate": plain(best.rate or 0.0), "unit": unit}  # fmt: skip
    if mine is None:
        return _FASTEST, fields
    share = (mine.rate or 0.0) / (best.rate or 1.0)
    return _OURS, {
        **fields,
        "name": label(mine.provider),
        "mine": plain(mine.rate or 0.0),
        "share": f"{share:.0%}",
    }


def _binary_step(lines: dict[str, tuple[dict[int, float], bool]]) -> int:
    """Powers of two between two grid lines, so that there are about five."""
    every = [y for points, _ in lines.values() for y in points.values()]
    return max(1, round(log2(max(every) / min(every)) / 5))


def _growth(values: dict[int, float]) -> float:
    ends = sorted(values)
    return values[ends[-1]] / values[ends[0]]


def _by_provider(
    rows: Sequence[Any], value: Callable[[Any], Any]
) -> dict[str, tuple[dict[int, float], bool]]:
    """{provider: ({N: value}, whether it was timed without pauses)}, fastest last point first."""
    found: dict[str, tuple[dict[int, float], bool]] = {}
    for row in rows:
        points, _ = found.setdefault(row.provider, ({}, getattr(row, "regime", "") == "unpaced"))
        points[row.problem.len_k] = float(value(row))
    return dict(sorted(found.items(), key=lambda item: -item[1][0][max(item[1][0])]))


def _frame(ax: Axes, ns: list[int], unit: str) -> None:
    ax.set_xscale("log")
    ax.grid(axis="y")
    ax.minorticks_off()
    ax.tick_params(length=0)
    ax.set_xticks(ns, [f"{n:,}" for n in ns])
    ax.set_xlabel(say(_X))
    ax.set_ylabel(unit)


def _draw(
    ax: Axes, lines: dict[str, tuple[dict[int, float], bool]], ns: list[int], theme: Theme
) -> bool:
    """Lines, marks, and the names at their ends, pushed apart where they would touch.

    Returns:
        whether a line has a gap: no number at one of `ns` between its first and its last.
    """
    gaps = False
    for at, (name, (points, hollow)) in enumerate(lines.items()):
        strong = name in OURS
        ink = colour("text" if strong else "soft", theme)
        xs = [n for n in ns if min(points) <= n <= max(points)]
        gaps = gaps or len(xs) > len(points)
        ax.plot(xs, [points.get(n, nan) for n in xs], color=ink, lw=2.6 if strong else 1.2,
                marker=_MARKS[at % len(_MARKS)], ms=7 if strong else 5, mec=ink,
                mfc=colour("page", theme) if hollow else ink, zorder=4 if strong else 3)  # fmt: skip
    ax.autoscale_view()  # the limits are needed now, not when the page is drawn
    ends = {name: (max(points), points[max(points)]) for name, (points, _) in lines.items()}
    heights = {
        name: float(ax.transAxes.inverted().transform(ax.transData.transform(end))[1])
        for name, end in ends.items()
    }
    for at, (name, height) in enumerate(apart(heights).items()):
        strong = name in OURS
        ink = colour("text" if strong else "soft", theme)
        x = float(ax.transAxes.inverted().transform(ax.transData.transform(ends[name]))[0])
        # above the thread to its line
        ax.plot([1.025], [height], marker=_MARKS[at % len(_MARKS)], ms=5, color=ink, clip_on=False,
                mfc=colour("page", theme) if lines[name][1] else ink, transform=ax.transAxes,
                zorder=5)  # fmt: skip
        thread = {"arrowstyle": "-", "color": colour("line", theme), "lw": 0.8, "shrinkB": 4}
        value = _number(ends[name][1], ax)
        if ends[name][0] < ns[-1]:
            value = say(_AT, value=value, n=f"{ends[name][0]:,}")
        ax.annotate(f"{label(name)}  {value}", (x, heights[name]), (1.045, height),
                    xycoords="axes fraction", textcoords="axes fraction", va="center", color=ink,
                    fontsize=10, weight="bold" if strong else "normal", annotation_clip=False,
                    arrowprops=thread)  # fmt: skip
    return gaps


def _number(value: float, ax: Axes) -> str:
    return amount(value, 3) if ax.get_yscale() == "log" else plain(value)


def apart(heights: dict[str, float], least: float = _TIGHT) -> dict[str, float]:
    """Heights moved so that neighbours, highest first, stand at least `least` apart.

    Example:
        >>> apart({"a": 0.5, "b": 0.5}, least=0.1)
        {'a': 0.55, 'b': 0.45}
    """
    names = sorted(heights, key=lambda name: -heights[name])
    placed = [heights[name] for name in names]
    for _ in range(200):
        moved = False
        for at in range(len(placed) - 1):
            short = least - (placed[at] - placed[at + 1])
            if short > 1e-9:
                placed[at] += short / 2
                placed[at + 1] -= short / 2
                moved = True
        if not moved:
            break
    ordered = dict(zip(names, placed, strict=True))
    return {name: round(ordered[name], 6) for name in heights}
