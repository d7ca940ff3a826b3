"""The memory levels of one GPU: how large each is and how fast, on logarithmic scales."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ... import hardware
from ...hardware import GPU, Rung
from ...language import Text, say
from ..numbers import amount, plain, rate
from ..palette import Theme, colour
from .canvas import Sheet, axes, headline, sheet, source

_LEVELS = {
    "registers": Text("registers", "寄存器"),
    "shared": Text("shared memory", "共享内存"),
    "l2": Text("L2 cache", "L2 缓存"),
    "hbm": Text("HBM", "显存 HBM"),
}
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
_SOURCE = Text(
    "Source: fa_toolkit.hardware, which names a document for every figure. "
    "○ with the L1 cache it is cut from.",
    "来源：fa_toolkit.hardware，每个数都注明出处。○ 表示连同它所属的 L1 缓存。",
)


def memory_ladder(
    gpu: GPU | str = "a100-40",
    *,
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Registers, shared memory, L2 and HBM of a GPU: size on the left, bandwidth on the right.

    Args:
        gpu: a record or a name that `hardware.gpu` knows.

    Raises:
        UnknownNameError: if no GPU has that name.
    """
    card = hardware.gpu(gpu) if isinstance(gpu, str) else gpu
    rungs = hardware.ladder(card)
    known = card.hbm_bytes and card.shared and card.bandwidth_ratio
    with sheet(9.6, 4.3, theme=theme, lang=lang, figure=figure) as page:
        finding = _FINDING if known else _SIZES_ONLY
        larger = plain((card.hbm_bytes or 0) / (card.shared or 1))
        slower = plain(card.bandwidth_ratio or 0)
        headline(page, _TITLE, finding, gpu=card.name, larger=larger, slower=slower)
        left = axes(page, 0.17, 0.56, top=0.8, bottom=1.2)
        right = axes(page, 0.62, 0.97, top=0.8, bottom=1.2)
        _sizes(left, card, rungs, theme)
        _speeds(right, rungs, theme)
        if card.l1 and card.l2 and card.name.startswith("A100"):
            _below(page, say(_TWO_LEVELS, l1=amount(card.l1), l2=amount(card.l2)))
        source(page, _SOURCE)
    return page


def _below(page: Sheet, text: str) -> None:
    page.text(0.02, 0.34 / page.get_size_inches()[1], text, va="bottom", fontsize=10.5)


def _rows(ax: Axes, theme: Theme, axis: str) -> None:
    """Four rows, registers on top, with a light grid across."""
    ax.set_xscale("log")
    ax.set_ylim(3.6, -0.6)
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


def _sizes(ax: Axes, card: GPU, rungs: tuple[Rung, ...], theme: Theme) -> None:
    _rows(ax, theme, say(_SIZE))
    ax.set_xlim(2.0**23, 2.0**40)
    ax.set_xticks([2.0**24, 2.0**30, 2.0**36], ["16 MiB", "1 GiB", "64 GiB"])
    per_sm = {"registers": card.registers_per_sm, "shared": card.shared_per_sm}
    for row, rung in enumerate(rungs):
        name = say(_LEVELS[rung.level])
        part = per_sm.get(rung.level)
        ax.text(-0.38, row - 0.12 * bool(part), name, transform=ax.get_yaxis_transform(),
                va="center", weight="bold")  # fmt: skip
        if part:
            ax.text(-0.38, row + 0.28, f"{card.sms} × {amount(part)}", va="center", fontsize=9,
                    transform=ax.get_yaxis_transform(), color=colour("soft", theme))  # fmt: skip
        if rung.bytes is None:
            _unknown(ax, row, theme)
            continue
        _dot(ax, row, rung.bytes, "", theme, solid=True)
        label = amount(rung.bytes)
        edge = float(rung.bytes)
        if rung.level == "shared" and card.l1 and card.l1 > rung.bytes:
            _dot(ax, row, card.l1, "", theme, solid=False)
            edge, label = card.l1, f"{label}  ({amount(card.l1)})"
        ax.annotate(label, (edge, row), (10, 0), textcoords="offset points", va="center")


def _speeds(ax: Axes, rungs: tuple[Rung, ...], theme: Theme) -> None:
    _rows(ax, theme, say(_SPEED))
    ax.set_xlim(1e11, 1e15)
    ax.set_xticks([1e11, 1e12, 1e13, 1e14], ["0.1 TB/s", "1 TB/s", "10 TB/s", "100 TB/s"])
    for row, rung in enumerate(rungs):
        if rung.bandwidth is None:
            _unknown(ax, row, theme)
            continue
        label = rate(rung.bandwidth)
        if rung.measured:
            label += f" ({say(_MEASURED)})"
        _dot(ax, row, rung.bandwidth, label, theme, solid=not rung.measured)


def _unknown(ax: Axes, row: int, theme: Theme) -> None:
    ax.text(0.03, row, say(_UNKNOWN), transform=ax.get_yaxis_transform(), va="center",
            color=colour("soft", theme))  # fmt: skip
