"""The step on show as a figure: the lines around what runs, and the tensors of the first recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ...language import Text, say
from ..figures.canvas import Sheet, axes, bare, sheet, source
from ..numbers import amount
from ..palette import RESTING, Theme, colour
from .frames import Plate, Reel
from .sentences import Span, span

if TYPE_CHECKING:
    from .state import KernelState

LINES, WIDE = 22, 72
_STEP = Text("step {n} of {total}", "第 {n} 步，共 {total} 步")
_SOURCE = Text(
    "Recorded from the kernel in Triton’s interpreter: {read} read, {written} written in all. "
    "Dashed: lanes masked off.",
    "在 Triton 解释器里录下：一共读 {read}，写 {written}。虚线：被掩掉的 lane。",
)


def still(state: KernelState, step: int, *, theme: Theme) -> Sheet:
    """One step as a figure."""
    reel = state.reels[0]
    here = span(reel, state.cut, step)
    with sheet(10.4, 5.4, theme=theme, lang=state.lang) as page:
        title = f"{reel.kernel}   {say(_STEP, n=step + 1, total=state.last + 1)}"
        sentence = state.caption(step)
        page.text(0.02, 1 - 0.14 / 5.4, title, va="top", fontsize=13.5, weight="bold")
        page.text(0.02, 1 - 0.46 / 5.4, sentence, va="top", fontsize=11)
        page.fa_alt = f"{title}. {sentence}"
        _code(bare(axes(page, 0.02, 0.56, top=0.85, bottom=0.5)), state, here, theme)
        _plates(bare(axes(page, 0.59, 0.98, top=0.95, bottom=0.5)), reel, here, theme)
        read, written = reel.moved
        source(page, _SOURCE, read=amount(read), written=amount(written))
    return page


def _code(ax: Axes, state: KernelState, here: Span, theme: Theme) -> None:
    """The source around what runs; those lines on a band, those that touch memory in bold."""
    c = state.reels[0].columns
    ran = set(c["line"][here.start : here.stop].tolist())
    touched = {int(c["line"][visit]) for visit in c["visit"][here.first : here.end]}
    numbers = [number for number, _ in state.source]
    lit = [i for i, number in enumerate(numbers) if number in (touched or ran)]
    first = max(0, min((lit[0] + lit[-1]) // 2 - LINES // 2 if lit else 0, len(numbers) - LINES))
    ax.set_xlim(0, 1)
    ax.set_ylim(LINES, 0)
    for row, (number, text) in enumerate(state.source[first : first + LINES]):
        on, hot = number in ran, number in touched
        if on:
            band = colour("stat" if hot else "soft", theme)
            ax.add_patch(Rectangle((0, row), 1, 1, fc=(band, RESTING if hot else 0.14), ec="none"))
        ink = colour("text" if on else "soft", theme)
        indent = (len(text) - len(text.lstrip())) // 2
        shown = (" " * indent + text.lstrip())[:WIDE].replace("$", r"\$")
        ax.text(0.055, row + 0.5, str(number or ""), ha="right", va="center", fontsize=7.5,
                color=colour("soft", theme))  # fmt: skip
        ax.text(0.075, row + 0.5, shown, va="center", fontsize=7.5, color=ink, family="monospace",
                weight="bold" if hot else "normal")  # fmt: skip


def _plates(ax: Axes, reel: Reel, here: Span, theme: Theme) -> None:
    """Up to two plates beside each other, in the units of one element."""
    sizes = [_extent(reel, i) for i in range(len(reel.plates))]
    wide = max(cols for _, cols in sizes) + 3
    x = y = 0.0
    tall = bottom = 0
    for i, plate in enumerate(reel.plates):
        if i and i % 2 == 0:
            x, y, tall = 0.0, y + tall + 4, 0
        tall = max(tall, sizes[i][0])
        _plate(ax, reel, i, plate, here, (x, y), theme)
        bottom = max(bottom, int(y + sizes[i][0]))
        x += wide
    ax.set_xlim(-0.5, 2 * wide)
    ax.set_ylim(bottom + 1, -2.5)
    ax.set_aspect("equal", anchor="NW")


def _extent(reel: Reel, tensor: int) -> tuple[int, int]:
    c, plate = reel.columns, reel.plates[tensor]
    mine = c["tensor"] == tensor
    reach = (c["start"] + c["lanes"])[mine].max(axis=0)
    return max(plate.rows, int(reach[0])), max(plate.cols, int(reach[1]))


def _plate(
    ax: Axes,
    reel: Reel,
    tensor: int,
    plate: Plate,
    here: Span,
    at: tuple[float, float],
    theme: Theme,
) -> None:
    from .state import ink

    c, name = reel.columns, ink(plate.name)
    shade, (x, y) = colour(name, theme), at
    ghost: Any = {"fc": "none", "ec": colour("ghost", theme), "ls": (0, (3, 3))}
    rest: Any = {"fc": (shade, RESTING), "ec": "none"}
    ax.add_patch(Rectangle(at, plate.cols, plate.rows, **(ghost if plate.stored else rest)))
    ax.text(x, y - 0.5, f"{plate.name}  {plate.rows} × {plate.cols}", color=shade, fontsize=9,
            weight="bold")  # fmt: skip
    for i in np.flatnonzero(c["tensor"][: here.end] == tensor):
        r0, r1, c0, c1 = (int(n) for n in c["box"][i])
        now = i >= here.first
        if not now and c["kind"][i] == 0:
            continue
        edge = colour("focus", theme) if now else "none"
        ax.add_patch(Rectangle((x + c0, y + r0), c1 - c0, r1 - r0, fc=(shade, 1 if now else 0.5),
                     ec=edge, lw=1.4))  # fmt: skip
        if now:
            _off(ax, reel, int(i), at, theme)


def _off(ax: Axes, reel: Reel, access: int, at: tuple[float, float], theme: Theme) -> None:
    """Masked-off lanes, one small dashed square each."""
    c = reel.columns
    rows, cols = (int(n) for n in c["lanes"][access])
    mask = c["mask"][c["mask_at"][access] : c["mask_at"][access + 1]].reshape(rows, cols)
    row, col = (int(n) for n in c["start"][access])
    for r, k in np.argwhere(mask == 0):
        ax.add_patch(Rectangle((at[0] + col + k + 0.08, at[1] + row + r + 0.08), 0.84, 0.84, fc="none",
                     ec=colour("stat", theme), lw=0.6, ls=(0, (2, 2))))  # fmt: skip
