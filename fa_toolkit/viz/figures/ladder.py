"""The memory levels of one GPU: how large each is and how fast, on logarithmic scales."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...hardware import GPU
from ...language import Text, say
from .. import taking
from ..memory_levels.levels import HEADS, Level, levels, passes
from ..memory_levels.words import LEVEL_NAMES, UI
from ..numbers import amount, duration, plain, rate
from ..palette import Theme, colour
from .canvas import Sheet, axes, headline, sheet, source

_TITLE = Text(
    "Memory of the {gpu}: small and fast, or large and slow", "{gpu} 的存储：小而快，大而慢"
)
_FINDING = Text(
    "HBM holds {larger} times what all shared memory does; its bandwidth is {slower} times lower.",
    "HBM 的容量是全部共享内存的 {larger} 倍，每秒能搬的数据却只有它的 1/{slower}。",
)
_SIZES_ONLY = Text(
    "Some bandwidths of this GPU are not published.", "这块 GPU 的部分带宽没有公布。"
)
_SIZE = Text("size of the whole chip, bytes (log scale)", "整块芯片的容量，字节（对数刻度）")
_SPEED = Text("its bandwidth, bytes per second (log scale)", "它的带宽，字节/秒（对数刻度）")
_UNKNOWN = Text("not published", "未公布")
_MEASURED = Text("measured", "实测")
_TWO_LEVELS = Text(
    "“20 to 40 MB of SRAM” is two levels: {l1} of L1 and shared memory, and {l2} of L2.",
    "“SRAM 约 20～40 MB”说的是两级：L1 与共享内存共 {l1}，L2 另有 {l2}。",
)
_PASS = Text("its bandwidth (log scale); one pass over {t}", "它的带宽（对数刻度）；把 {t} 过一遍")
_SOURCE = Text(
    "Source: fa_toolkit.hardware, which names a document for every figure. "
    "○ with the L1 cache it is cut from.",
    "来源：fa_toolkit.hardware，每个数都注明出处。○ 表示连同它所属的 L1 缓存。",
)


def ladder_figure(
    gpu: GPU | str = "a100-40",
    *,
    tensor: tuple[str, int] | None = None,
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """The memories of a GPU: size on the left, bandwidth on the right. The player's still.

    Args:
        gpu: a record or a name that `hardware.gpu` knows.
        tensor: which tensor ("q", "k", "s", "heads") and its bytes, to draw beside them.

    Raises:
        UnknownNameError: if no GPU has that name.
    """
    card = taking.card("gpu", gpu)
    rungs = levels(card)
    known = card.hbm_bytes and card.shared and card.bandwidth_ratio
    with sheet(9.6, 4.8, theme=theme, lang=lang, figure=figure) as page:
        finding = _FINDING if known else _SIZES_ONLY
        larger = plain((card.hbm_bytes or 0) / (card.shared or 1))
        slower = plain(card.bandwidth_ratio or 0)
        headline(page, _TITLE, finding, gpu=card.name, larger=larger, slower=slower)
        left = axes(page, 0.17, 0.56, top=0.8, bottom=1.2)
        right = axes(page, 0.62, 0.97, top=0.8, bottom=1.2)
        _sizes(left, card, rungs, theme)
        _speeds(right, rungs, theme, tensor and passes(card, tensor[1]))
        if tensor:
            _beside(left, right, *tensor, theme)
        if card.l1 and card.l2 and card.name.startswith("A100"):
            _below(page, say(_TWO_LEVELS, l1=amount(card.l1), l2=amount(card.l2)))
        source(page, _SOURCE)
    return page


def _below(page: Sheet, text: str) -> None:
    page.text(0.02, 0.34 / page.get_size_inches()[1], text, va="bottom", fontsize=10.5)


def _rows(ax: Axes, theme: Theme, axis: str) -> None:
    """Five rows, registers on top, with a light grid across."""
    ax.set_xscale("log")
    ax.set_ylim(4.6, -0.6)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x", which="major")
    ax.minorticks_off()
    ax.set_xlabel(axis)
    ax.tick_params(length=0)
    del theme


def _dot(ax: Axes, row: int, value: float, label: str, theme: Theme, *, solid: bool) -> None:
    ink = colour("text", theme)
    face = ink if solid else "none"
    ax.plot([value], [row], "o", ms=9, mfc=face, mec=ink, mew=1.5, clip_on=False)
    if label:
        ax.annotate(label, (value, row), (9, 0), textcoords="offset points", va="center")


def _sizes(ax: Axes, card: GPU, rungs: tuple[Level, ...], theme: Theme) -> None:
    _rows(ax, theme, say(_SIZE))
    ax.set_xlim(2.0**23, 2.0**40)
    ax.set_xticks([2.0**24, 2.0**30, 2.0**36], ["16 MiB", "1 GiB", "64 GiB"])
    for row, rung in enumerate(rungs):
        name = say(LEVEL_NAMES[rung.name])
        part = rung.each
        ax.text(-0.38, row - 0.12 * bool(part), name, transform=ax.get_yaxis_transform(),
                va="center", weight="bold")  # fmt: skip
        if part:
            ax.text(-0.38, row + 0.28, f"{card.sms} × {amount(part)}", va="center", fontsize=9,
                    transform=ax.get_yaxis_transform(), color=colour("soft", theme))  # fmt: skip
        if rung.bytes is None:
            _unknown(ax, row, theme, UI["machine"] if rung.name == "host" else _UNKNOWN)
            continue
        _dot(ax, row, rung.bytes, "", theme, solid=True)
        label = amount(rung.bytes)
        edge = float(rung.bytes)
        if rung.name == "shared" and card.l1 and card.l1 > rung.bytes:
            _dot(ax, row, card.l1, "", theme, solid=False)
            edge, label = card.l1, f"{label}  ({amount(card.l1)})"
        ax.annotate(label, (edge, row), (10, 0), textcoords="offset points", va="center")


def _speeds(
    ax: Axes, rungs: tuple[Level, ...], theme: Theme, times: tuple[float | None, ...] | None
) -> None:
    _rows(ax, theme, say(_SPEED))
    ax.set_xlim(1e10, 3e17 if times else 1e16)  # room for the labels
    ax.set_xticks([1e10, 1e12, 1e14], ["0.01 TB/s", "1 TB/s", "100 TB/s"])
    for row, rung in enumerate(rungs):
        if rung.bandwidth is None:
            _unknown(ax, row, theme)
            continue
        label = rate(rung.bandwidth)
        if rung.measured:
            label += f" ({say(_MEASURED)})"
        if times and (seconds := times[row]) is not None:
            label += f" · {duration(seconds)}"
        _dot(ax, row, rung.bandwidth, label, theme, solid=not rung.measured)


def _beside(left: Axes, right: Axes, what: str, size: int, theme: Theme) -> None:
    """The tensor as a line through all sizes; the other axis says what its times are."""
    name = say(UI[f"what_{what}"], h=HEADS)
    ink = colour(what[0] if what in ("q", "k") else "s", theme)
    low, high = left.get_xlim()
    left.set_xlim(min(low, size / 2), max(high, size * 2))
    left.axvline(size, color=ink, lw=2, zorder=1)
    late = size > (low * high) ** 0.5
    left.annotate(f"{name}: {amount(size)}", (size, -0.6), (-4 if late else 4, 3), color=ink,
                  textcoords="offset points", ha="right" if late else "left", fontsize=10)  # fmt: skip
    right.set_xlabel(say(_PASS, t=name))


def _unknown(ax: Axes, row: int, theme: Theme, why: Text = _UNKNOWN) -> None:
    at, side = (0.03, "left") if why is _UNKNOWN else (0.97, "right")
    ax.text(at, row, say(why), transform=ax.get_yaxis_transform(), va="center", ha=side,
            color=colour("soft", theme))  # fmt: skip
