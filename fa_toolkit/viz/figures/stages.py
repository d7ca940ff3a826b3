"""The stages of the Hopper forward in one program, tile after tile: copies, products, exponentials.

Draws `measured.Stamps`. A bar that ends where its end was only looked for is open there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...errors import ArgumentError
from ...language import Text, say
from ...measured.timeline import Span, Stamps, Timeline, spans
from .. import taking
from ..palette import RESTING, Theme, colour
from .canvas import axes, headline, sentences, sheet, source

_TITLE = Text(
    "One program of the Hopper forward: N = {n}, D = {d}, {mask}",
    "Hopper 前向的一个程序实例：N = {n}，D = {d}，{mask}",
)
_FINDING = Text(
    "A step takes {step} clocks: {scores} until S is there, {exponentials} for the softmax, {rest} for the rest.",
    "一步 {step} 个周期：S 算完用 {scores}，softmax 用 {exponentials}，其余 {rest}。",
)
_MASK = {True: Text("causal", "因果掩码"), False: Text("no mask", "无掩码")}
_PRODUCER = Text("producer", "生产者")
_GROUP = Text("group {n}", "第 {n} 组")
_COPY = Text("copies", "复制")
_PRODUCTS = Text("tensor cores", "张量核心")
_SOFTMAX = Text("softmax", "softmax")
_X = Text("clocks of the multiprocessor", "多处理器的时钟周期")
_STAMPED = Text(
    "Stamped: K, V from asking until they are there; S from when its group is ready until it is there; "
    "then the softmax, p.",
    "时间戳：K、V 从发出请求到到达；S 从这一组就绪到算完；接着是 softmax，得到 p。",
)
_CONCLUDED = Text(
    "Concluded: P V (hatched) comes behind S; by its right edge it is done, maybe before.",
    "推断：斜线的 P V 排在 S 后面，到右端时已经做完，也许更早。",
)
_SLOWER = Text("With stamps a call takes {slower} longer", "加了时间戳，一次调用慢 {slower}")
_CASE = Text("a Timeline of fa.measured", "fa.measured 的一个 Timeline")
_ROWS = Text("rows of Stamps", " Stamps 的各行")
_HEIGHT = 4.6  # inches
_ROOM = 0.0075  # of the width, for each sign of a name in a bar


@taking.takes(
    timeline=taking.has("clocks", "slowdown", of=_CASE),
    stamps=taking.are("role", "clocks", of=_ROWS),
    where=taking.words,
)
def stage_timeline(
    timeline: Timeline,
    stamps: Sequence[Stamps],
    *,
    where: str | Callable[[], str] = "",
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """What producer, tensor cores and exponential units did for a few tiles of keys, in clocks.

    Args:
        timeline: the case to show; its stamps are picked out of `stamps`.
        where: the line under the figure: device, versions, day; or what says it.

    Raises:
        ArgumentError: if there are no stamps of that case.
    """
    shown = spans(row for row in stamps if row.problem == timeline.problem)
    groups = sorted({span.role for span in shown if span.role != "producer"})
    if not groups:
        expected = Text("stamps of the case", "这一情形的时间戳")
        raise ArgumentError("stamps", expected=expected, got=str(len(stamps)))
    p = timeline.problem
    end = max(span.end for span in shown if span.role != "producer")
    with sheet(9.6, _HEIGHT, theme=theme, lang=lang, figure=figure) as page:
        headline(page, _TITLE, _FINDING, n=f"{p.len_k:,}", d=p.head_dim, mask=say(_MASK[p.causal]),
                 **_parts(timeline))  # fmt: skip
        ax = axes(page, 0.13, 0.965, top=0.85, bottom=1.3)
        ax.set_xlim(0, end)
        ax.set_ylim(2 * len(groups) + 0.75, -0.6)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        ax.grid(axis="x")
        ax.tick_params(length=0)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.set_xlabel(say(_X))
        _lane(ax, 0, say(_PRODUCER), say(_COPY), theme)
        for at, _ in enumerate(groups):
            row = 1 + 2 * at + 0.15 * (at + 1)
            _lane(ax, row, say(_GROUP, n=at), say(_PRODUCTS), theme)
            _lane(ax, row + 0.9, "", say(_SOFTMAX), theme)
        rows = {"producer": 0.0} | {
            name: 1 + 2 * at + 0.15 * (at + 1) for at, name in enumerate(groups)
        }
        for span in shown:
            _draw(ax, span, rows[span.role], end, theme)
        for text, inches in ((_STAMPED, 0.52), (_CONCLUDED, 0.32)):
            page.text(0.02, inches / _HEIGHT, say(text), va="bottom", fontsize=9,
                      color=colour("soft", theme))  # fmt: skip
        slower = say(_SLOWER, slower=f"{timeline.slowdown:.1%}")
        source(page, sentences(where, slower))
    return page


def _parts(timeline: Timeline) -> dict[str, str]:
    """The median step and what it is made of, in clocks."""
    clocks = timeline.clocks
    scores = clocks["turn"] + clocks["issued"] + clocks["scores"]
    softmax = clocks["exponentials"]
    found = {"step": clocks["step"], "scores": scores, "exponentials": softmax}
    found["rest"] = clocks["step"] - scores - softmax
    return {name: f"{value:,.0f}" for name, value in found.items()}


def _lane(ax: Axes, row: float, who: str, what: str, theme: Theme) -> None:
    """The names of a lane, left of it: who, and in grey what."""
    across = ax.get_yaxis_transform()
    if who:
        ax.text(-0.015, row - 0.2, who, transform=across, ha="right", va="center", weight="bold")
    ax.text(-0.015, row + (0.2 if who else 0), what, transform=across, ha="right", va="center",
            fontsize=9.5, color=colour("soft", theme))  # fmt: skip


def _draw(ax: Axes, span: Span, row: float, end: int, theme: Theme) -> None:
    begin, stop = max(span.begin, 0), min(span.end, end)
    if stop <= begin:
        return
    if span.stage == "copy":
        _bar(ax, begin, stop, row - 0.2, 0.36, "k", f"K {span.tile}", end, theme)
        _bar(ax, begin, stop, row + 0.2, 0.36, "v", f"V {span.tile - 1}", end, theme)
    elif span.stage == "scores":
        _bar(ax, begin, stop, row, 0.72, "s", f"S {span.tile}", end, theme)
    elif span.stage == "values":
        _bar(ax, begin, stop, row, 0.72, "o", f"PV {span.tile - 1}", end, theme, latest=True)
    else:
        _bar(ax, begin, stop, row + 0.9, 0.62, "p", f"p {span.tile}", end, theme)


def _bar(
    ax: Axes, begin: int, stop: int, row: float, height: float, ink: str, name: str, end: int,
    theme: Theme, *, latest: bool = False,
) -> None:  # fmt: skip
    """One stage; its name inside if there is room. `latest`: pale and hatched."""
    paint = colour(ink, theme)
    place: dict[str, Any] = {"left": begin, "height": height, "lw": 0.6}
    if latest:
        # two bars: a page's theme paints the ground and the lines of one hatch in the same colour
        ax.barh(row, stop - begin, facecolor=(paint, RESTING), edgecolor="none", **place)
        ax.barh(row, stop - begin, facecolor="none", edgecolor=paint, hatch="///", **place)
    else:
        ax.barh(row, stop - begin, color=paint, ec=colour("page", theme), **place)
    if (stop - begin) / end < _ROOM * len(name):
        return
    back = {"boxstyle": "square,pad=0.1", "fc": colour("page", theme), "ec": "none"}
    ax.text((begin + stop) / 2, row, name, ha="center", va="center", fontsize=7.5, clip_on=True,
            color=colour("text" if latest else "page", theme), bbox=back if latest else None)  # fmt: skip
