"""How the memory beside Q, K, V and O grows with the sequence: quadratic against linear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from ...errors import ArgumentError
from ...io_model import flash_extra_memory, standard_extra_memory
from ...language import Text, say
from ...problem import AttentionProblem, Dtype
from .. import taking
from ..numbers import amount
from ..palette import Theme, colour
from .canvas import axes, headline, sheet, source

_TITLE = Text("Memory beside Q, K, V and O", "除 Q、K、V、O 之外占用的内存")
_FINDING = Text(
    "Twice the sequence: {standard} times the memory for standard attention, {flash} for flash.",
    "序列加倍：标准注意力的内存变成 {standard} 倍，flash 变成 {flash} 倍。",
)
_NAMES = {
    "standard": Text("standard: S and P, {power}", "标准：S 和 P，{power}"),
    "flash": Text("flash: one lse a row, {power}", "flash：每行一个 lse，{power}"),
}
_TENSOR = {"standard": "s", "flash": "lse"}
_X = Text("sequence length N (log scale)", "序列长度 N（对数刻度）")
_Y = Text("bytes (log scale)", "字节（对数刻度）")
_SOURCE = Text(
    "Lines: modelled by fa_toolkit.io_model, forward, B·H = {heads}, {dtype}; exponents fitted.{dots}",
    "线：由 fa_toolkit.io_model 算出，前向，B·H = {heads}，{dtype}；指数为拟合值。{dots}",
)
_DOTS = Text(" ● measured.", "● 为实测。")


def fitted_exponent(lengths: Sequence[float], values: Sequence[float]) -> float:
    """The slope of log(value) over log(length), by least squares.

    Example:
        >>> round(fitted_exponent([1, 2, 4], [3, 12, 48]), 6)
        2.0
    """
    xs, ys = [log(n) for n in lengths], [log(v) for v in values]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / sum(
        (x - mx) ** 2 for x in xs
    )


@taking.takes(
    lengths=taking.wholes, batch=taking.whole, heads=taking.whole, measured=taking.mapping
)
def memory_growth(
    lengths: Sequence[int] = (256, 512, 1024, 2048, 4096, 8192, 16384, 32768),
    *,
    batch: int = 1,
    heads: int = 8,
    dtype: Dtype = "float16",
    measured: Mapping[str, Mapping[int, float]] | None = None,
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Extra memory against N on logarithmic axes, with the exponent fitted to each line.

    Args:
        measured: {"standard" | "flash": {N: bytes}}, drawn as dots on top.

    Raises:
        ArgumentError: with fewer than two different lengths, or a number below 1.
    """
    for name, count in (("batch", batch), ("heads", heads)):
        if count < 1:
            raise ArgumentError(name, expected=Text("1 or more", "不小于 1"), got=str(count))
    ns = sorted(set(lengths))
    if len(ns) < 2 or ns[0] < 1:
        raise ArgumentError(
            "lengths",
            expected=Text("two or more different lengths from 1", "两个以上不同的长度，至少为 1"),
            got=repr(list(lengths)),
        )
    shapes = [
        AttentionProblem(batch, heads, heads, n, n, dtype=dtype) for n in ns
    ]  # the head dimension plays no part
    lines = {
        "standard": [standard_extra_memory(p) for p in shapes],
        "flash": [flash_extra_memory(p) for p in shapes],
    }
    powers = {name: fitted_exponent(ns, values) for name, values in lines.items()}
    with sheet(9.6, 4.4, theme=theme, lang=lang, figure=figure) as page:
        headline(page, _TITLE, _FINDING,
                 **{name: f"{2**power:.3g}" for name, power in powers.items()})  # fmt: skip
        ax = axes(page, 0.1, 0.72, top=0.85, bottom=0.95)
        _frame(ax, ns)
        for name, values in lines.items():
            _line(ax, name, ns, values, powers[name], theme)
            dots = (measured or {}).get(name, {})
            ax.plot(list(dots), list(dots.values()), "o", ms=7, color=colour(_TENSOR[name], theme))
        source(page, _SOURCE, heads=batch * heads, dtype=dtype,
               dots=say(_DOTS) if measured else "")  # fmt: skip
    return page


def _frame(ax: Axes, ns: list[int]) -> None:
    ax.set(xscale="log", yscale="log")
    ax.grid(axis="y")
    ax.minorticks_off()
    ax.tick_params(length=0)
    every = -(-len(ns) // 8)
    ax.set_xticks(ns[::every], [f"{n:,}" for n in ns[::every]])
    ax.yaxis.set_major_locator(_binary_ticks())
    ax.yaxis.set_major_formatter(lambda value, _: amount(value))
    ax.set_xlabel(say(_X))
    ax.set_ylabel(say(_Y))


def _binary_ticks() -> LogLocator:
    return LogLocator(base=2.0**5, numticks=12)


def _line(
    ax: Axes, name: str, ns: list[int], values: list[int], power: float, theme: Theme
) -> None:
    ink = colour(_TENSOR[name], theme)
    ax.plot(ns, values, color=ink)
    label = f"{say(_NAMES[name], power=_power(power))}\n{amount(values[-1])}"
    ax.annotate(label, (ns[-1], values[-1]), (10, 0), textcoords="offset points",
                va="center", color=ink, annotation_clip=False)  # fmt: skip


def _power(exponent: float) -> str:
    """N² for a whole exponent, N^1.93 for another.

    Example:
        >>> _power(2.0), _power(1.934)
        ('N²', 'N^1.93')
    """
    whole = round(exponent)
    if abs(exponent - whole) < 0.005 and 0 < whole < 10:
        return "N" if whole == 1 else f"N{'⁰¹²³⁴⁵⁶⁷⁸⁹'[whole]}"
    return f"N^{exponent:.2f}"
