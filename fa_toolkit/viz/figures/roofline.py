"""The roofline of a GPU with algorithms standing under it."""

from __future__ import annotations

from collections.abc import Mapping
from math import atan2, degrees

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ... import io_model
from ...errors import ArgumentError
from ...hardware import GPU
from ...language import Text, say
from .. import taking
from ..numbers import plain, rate
from ..palette import Theme, colour
from .canvas import axes, headline, sheet, source

Point = float | tuple[float, float]

_TITLE = Text("Roofline of the {gpu}, {dtype}", "{gpu} 的 roofline，{dtype}")
_FINDING = Text(
    "Below {ridge} FLOPs a byte the memory decides, above it the arithmetic units.",
    "每字节不到 {ridge} 次运算，由显存决定快慢；超过它，由运算单元决定。",
)
_SPOKEN = Text(
    "{name}: {x} FLOPs a byte, {rate} {kind}.", "{name}：每字节 {x} 次运算，{rate}，{kind}。"
)
_MODELLED, _MEASURED = Text("at most, modelled", "模型上限"), Text("measured", "实测")
_X = Text("FLOPs per byte moved to or from HBM (log scale)", "每搬一个字节做多少次运算（对数刻度）")
_Y = Text("FLOP/s (log scale)", "FLOP/s（对数刻度）")
_SOURCE = Text(
    "Ceilings: data sheet, dense. ○ modelled: the most this intensity allows. ● measured.",
    "上限取自官方规格（稠密）。○ 模型值：该强度下的上限。● 实测值。",
)


@taking.takes(points=taking.mapping, dtype=taking.is_a(str))
def roofline_figure(
    gpu: GPU | str,
    points: Mapping[str, Point] | None = None,
    *,
    dtype: str = "float16",
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Where algorithms stand under the two ceilings of a GPU.

    Args:
        points: name -> intensity in FLOPs per byte, drawn hollow on the ceiling it allows (a
            model); or name -> (intensity, FLOP/s measured), drawn solid.

    Raises:
        ArgumentError: if an intensity or a rate is not positive.
    """
    card = taking.card("gpu", gpu)
    line = io_model.roofline(card, dtype)
    placed = {name: _place(name, point, line) for name, point in (points or {}).items()}
    with sheet(9.6, 4.6, theme=theme, lang=lang, figure=figure) as page:
        headline(page, _TITLE, _FINDING, gpu=card.name, dtype=dtype, ridge=plain(line.ridge))
        for name, (x, y, measured) in placed.items():
            kind = say(_MEASURED if measured else _MODELLED)
            page.fa_alt += " " + say(
                _SPOKEN, name=name, x=plain(x), rate=rate(y, "FLOP/s"), kind=kind
            )
        ax = axes(page, 0.1, 0.94, bottom=0.95)
        reach = [x for x, _, _ in placed.values()]
        low = min([0.25, *(x / 2 for x in reach)])
        high = max([line.ridge * 20, *(x * 3 for x in reach)])
        _ceilings(ax, line, low, high, reach, theme)
        high_up = sorted((p for p in placed.items() if p[1][0] > line.ridge / 4),
                         key=lambda p: -p[1][0])  # fmt: skip
        for rank, (name, place) in enumerate(high_up):
            _point(ax, name, place, theme, below=rank + 1)
        slope = sorted((p for p in placed.items() if p[1][0] <= line.ridge / 4), key=lambda p: p[1])
        lefts = _sides([place[0] for _, place in slope], low * (high / low) ** 0.4)
        for (name, place), left in zip(slope, lefts, strict=True):
            _point(ax, name, place, theme, left=left)
        source(page, _SOURCE)
    return page


def _sides(xs: list[float], middle: float) -> list[bool]:
    """Which labels on the slope stand left of their point: where there is room, neighbours apart.

    Example:
        >>> _sides([0.2, 12.7, 15.6], 4)
        [False, False, True]
    """
    lefts = [x > middle for x in xs]
    for i in range(len(xs) - 1):
        if lefts[i] == lefts[i + 1] and xs[i + 1] < 3 * xs[i]:
            lefts[i], lefts[i + 1] = False, True
    return lefts


def _place(name: str, point: Point, line: io_model.Roofline) -> tuple[float, float, bool]:
    measured = isinstance(point, tuple)
    x, y = point if isinstance(point, tuple) else (point, line.attainable(point))
    if not (x > 0 and y > 0):
        raise ArgumentError(
            f"points[{name!r}]", expected=Text("positive numbers", "正数"), got=repr(point)
        )
    return x, y, measured


def _ceilings(
    ax: Axes, line: io_model.Roofline, low: float, high: float, reach: list[float], theme: Theme
) -> None:
    ink, soft = colour("text", theme), colour("soft", theme)
    ax.set(xscale="log", yscale="log", xlim=(low, high))
    bottom = line.attainable(low) / 2
    ax.set_ylim(bottom, line.peak * 2.4)
    ax.minorticks_off()
    ax.tick_params(length=0)
    ax.grid(axis="y")
    ax.plot([low, line.ridge, high], [line.attainable(low), line.peak, line.peak], color=ink)
    ax.plot([line.ridge] * 2, [bottom, line.peak], color=soft, lw=1, ls=(0, (3, 3)))
    ax.annotate(plain(line.ridge), (line.ridge, bottom), (4, 4), textcoords="offset points",
                color=soft, fontsize=10)  # fmt: skip
    # the peak stands where no point is: at the right end, or over the ridge
    taken = any(x > (line.ridge * high) ** 0.5 for x in reach)
    ax.annotate(rate(line.peak, "FLOP/s"), (line.ridge if taken else high, line.peak),
                (2 if taken else -2, 9), ha="left" if taken else "right",
                textcoords="offset points")  # fmt: skip
    middle = (low * line.ridge) ** 0.5 / 4
    slope = ax.transData.transform([(low, line.attainable(low)), (line.ridge, line.peak)])
    angle = degrees(atan2(slope[1][1] - slope[0][1], slope[1][0] - slope[0][0]))
    ax.annotate(rate(line.bandwidth), (middle, line.attainable(middle)), (-6, 6),
                textcoords="offset points", rotation=angle, rotation_mode="anchor")  # fmt: skip
    ax.set_xlabel(say(_X))
    ax.set_ylabel(say(_Y))
    ax.set_yticks([t for t in (1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16)
                   if bottom <= t <= line.peak * 2.4])  # fmt: skip
    ax.set_xticks([t for t in (10.0**e for e in range(-3, 7)) if low <= t <= high])
    ax.yaxis.set_major_formatter(lambda value, _: rate(value, ""))
    ax.xaxis.set_major_formatter(lambda value, _: plain(value))


def _point(
    ax: Axes, name: str, place: tuple[float, float, bool], theme: Theme, *,
    below: int = 0, left: bool = False,
) -> None:  # fmt: skip
    """A point and its label: to the lower right, or under the roof on a thin line."""
    x, y, measured = place
    ink = colour("stat", theme)
    ax.plot([x], [y], "o", ms=9, mec=ink, mew=2, mfc=ink if measured else "none", zorder=4)
    label = f"{name}: {plain(x)} → {rate(y, 'FLOP/s')}"
    clear = {"facecolor": colour("page", theme), "edgecolor": "none", "pad": 1.5}
    if not below:  # on the slope: where the label has room, and off the line
        ax.annotate(label, (x, y), (-10, 4) if left else (10, -5), textcoords="offset points",
                    va="bottom" if left else "top", ha="right" if left else "left", bbox=clear)  # fmt: skip
        return
    # under the slope there is room to the right only, near the right end to the left
    side, shift, anchor = "center", 0, 0.5
    if y < ax.get_ylim()[1] / 3:
        side, shift, anchor = "left", -8, 0.06
    elif ax.transAxes.inverted().transform(ax.transData.transform((x, y)))[0] > 0.7:
        side, shift, anchor = "right", 80, 0.66
    thread = {"arrowstyle": "-", "color": colour("soft", theme), "lw": 0.8, "shrinkB": 6,
              "relpos": (anchor, 1)}  # fmt: skip
    ax.annotate(label, (x, y), (shift, -10 - 20 * below), textcoords="offset points",
                va="top", ha=side, zorder=5, arrowprops=thread, bbox=clear)  # fmt: skip
