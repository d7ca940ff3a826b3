"""The step on show as a figure: for slides, and where no browser draws the player."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ...errors import ArgumentError
from ...language import Text, say
from ...problem import tile_kind
from ..figures.canvas import Sheet, axes, bare, sheet, source
from ..numbers import amount, plain
from ..palette import RESTING, Theme, colour
from ..player.words import filled
from ..tape import Tape
from .frames import Frame
from .moment import Moment, moment
from .words import SAYS, TITLES

MOST_TILES, MOST_CELLS = 16, 32
_SIDES: dict[str, dict[str, tuple[str, ...]]] = {
    "flash_forward": {"left": ("Q",), "top": ("K",), "bottom": ("V",), "right": ("O",)},
    "decode": {"left": ("Q",), "top": ("K",), "bottom": ("V",), "right": ("O",)},
    "flash_backward": {
        "left": ("Q", "dO"), "top": ("K", "V"), "bottom": ("dK", "dV"), "right": ("dQ",),
    },
}  # fmt: skip
_CHIP: dict[str, tuple[tuple[str, ...], ...]] = {
    "flash_forward": (("q", "k", "v", "s"), ("acc", "m", "l", "p")),
    "decode": (("q", "k", "v", "s"), ("acc", "m", "l", "p")),
    "flash_backward": (
        ("q", "do", "k", "v"),
        ("p", "dp", "ds", "delta"),
        ("dq", "dk", "dv", "lse"),
    ),
}
_COLUMN = ("m", "l", "alpha", "lse", "delta")
_STEP = Text("step {n} of {total}", "第 {n} 步，共 {total} 步")
_SOURCE = Text(
    "Played from a trace of {problem}. Requested from HBM so far: {moved}.   "
    "✓ done   ╱ skipped   ╲ masked at the edge",
    "按{problem}的轨迹播放。到目前为止向 HBM 请求了 {moved}。   ✓ 已做   ╱ 跳过   ╲ 边上有掩码",
)
_SHAPE = Text("{n} queries and {k} keys", " {n} 个 query、{k} 个 key ")


def still(tape: Tape, frames: Sequence[Frame], step: int, *, theme: Theme, lang: str) -> Sheet:
    """One step as a figure.

    Raises:
        ArgumentError: if there are more than 16 tiles on a side, too many to mark.
    """
    rows, cols = _grid(tape)
    if max(rows, cols) > MOST_TILES:
        raise ArgumentError(
            "trace",
            expected=Text(f"at most {MOST_TILES} tiles a side", f"每边最多 {MOST_TILES} 块"),
            got=f"{rows} × {cols}",
        )
    now = moment(tape, frames, step)
    with sheet(9.6, 5.2, theme=theme, lang=lang) as page:
        title = say(TITLES[tape.algorithm])
        sentence = filled(say(SAYS[frames[step].say]), frames[step].numbers).replace("*", "")
        place = say(_STEP, n=step + 1, total=len(frames))
        page.text(
            0.02, 1 - 0.14 / 5.2, f"{title}   {place}", va="top", fontsize=13.5, weight="bold"
        )
        page.text(0.02, 1 - 0.44 / 5.2, sentence, va="top", fontsize=11)
        page.fa_alt = f"{title}. {sentence}"
        _plane(bare(axes(page, 0.02, 0.42, top=0.85, bottom=0.5)), tape, now, theme)
        _chip(page, tape, now, theme)
        shape = say(_SHAPE, n=tape.rows, k=tape.keys)
        source(page, _SOURCE, problem=shape, moved=amount(sum(now.moved)))
    return page


def _grid(tape: Tape) -> tuple[int, int]:
    """Tiles down and across."""
    return -(-tape.rows // tape.tile.block_m), -(-tape.keys // tape.tile.block_n)


def _plane(ax: Axes, tape: Tape, now: Moment, theme: Theme) -> None:
    """Strips and score plane; one unit is one tile."""
    sides = _SIDES[tape.algorithm]
    rows, cols = _grid(tape)
    thick = 0.09 * max(rows, cols)
    gap = 0.5 * thick
    pitch = thick + gap
    ax.set_xlim(-len(sides["left"]) * pitch - 2 * gap, cols + len(sides["right"]) * pitch + gap)
    lift = 1.1 * thick  # room for the names of the strips at the left
    ax.set_ylim(rows + len(sides["bottom"]) * pitch + gap, -len(sides["top"]) * pitch - gap - lift)
    ax.set_aspect("equal", anchor="NW")
    for side, names in sides.items():
        for at, name in enumerate(names):
            before = side in ("left", "top")
            offset = (
                -(len(names) - at) * pitch
                if before
                else (cols if side == "right" else rows) + gap + at * pitch
            )
            offset -= lift if side == "top" else 0
            _strip(
                ax,
                name,
                side,
                offset,
                thick,
                rows if side in ("left", "right") else cols,
                now,
                theme,
            )
    for i in range(rows):
        for j in range(cols):
            _tile(ax, i, j, tape, now, theme)
    if now.now is not None:
        name = "p" if tape.algorithm == "flash_backward" else "s"
        i, j = now.now
        if name in now.chip:
            _heat(ax, now.chip[name], name, theme, (j + 0.14, i + 0.14), 0.72, 0.72)


def _strip(
    ax: Axes,
    name: str,
    side: str,
    offset: float,
    thick: float,
    count: int,
    now: Moment,
    theme: Theme,
) -> None:
    """A tensor's tiles in HBM, the one on chip solid, the stored ones ticked."""
    upright = side in ("left", "right")
    stored = now.stored.get(name, set()) if name in ("O", "dQ", "dK", "dV") else set()
    for i in range(count):
        x, y, w, h = (offset, i, thick, 1) if upright else (i, offset, 1, thick)
        on = now.lit.get(name) == i
        ink = colour(name, theme)
        ax.add_patch(Rectangle((x + 0.03 * w, y + 0.03 * h), 0.94 * w, 0.94 * h,
                     fc=ink if on else (ink, RESTING), lw=1.8,
                     ec=colour("focus", theme) if on else "none"))  # fmt: skip
        if i in stored and not on:
            _mark(ax, "tick", x + w / 2, y + h / 2, thick, colour("soft", theme))
    where: Any = (
        (offset + thick / 2, -0.3 * thick) if upright else (-0.3 * thick, offset + thick / 2)
    )
    aligned: Any = {"ha": "center", "va": "bottom"} if upright else {"ha": "right", "va": "center"}
    ax.text(where[0], where[1], name, color=colour(name, theme), weight="bold", **aligned)


def _tile(ax: Axes, i: int, j: int, tape: Tape, now: Moment, theme: Theme) -> None:
    ghost, soft, ink = colour("ghost", theme), colour("soft", theme), colour("s", theme)
    current = (i, j) == now.now
    ax.add_patch(Rectangle((j + 0.04, i + 0.04), 0.92, 0.92, fc=(ink, RESTING) if current else "none",
                 ec=ink if current else ghost, lw=2 if current else 1.1,
                 ls="-" if current else (0, (3, 3))))  # fmt: skip
    m, n = tape.tile.block_m, tape.tile.block_n
    kind = tile_kind(tape.problem, i * m, (i + 1) * m, j * n, (j + 1) * n)
    if tape.algorithm == "decode":  # its problem has the lengths of the cache
        kind = "full"
    if current:
        return
    if (i, j) in now.done:
        _mark(ax, "tick", j + 0.5, i + 0.5, 1, soft)
    elif kind != "full":
        _mark(ax, "rising" if kind == "skipped" else "falling", j + 0.5, i + 0.5, 1, ghost)


def _mark(ax: Axes, kind: str, x: float, y: float, size: float, ink: str) -> None:
    shapes = {
        "tick": ((-0.12, -0.03, 0.14), (0.02, 0.11, -0.11)),
        "rising": ((-0.2, 0.2), (0.2, -0.2)),
        "falling": ((-0.2, 0.2), (-0.2, 0.2)),
    }
    xs, ys = shapes[kind]
    ax.plot([x + size * u for u in xs], [y + size * u for u in ys], color=ink, lw=1.4)


def _heat(
    ax: Axes, values: Any, name: str, theme: Theme, at: tuple[float, float], w: float, h: float
) -> None:
    """Values as opacity of the tensor's colour, between the tile's own ends."""
    grid = values[:MOST_CELLS, :MOST_CELLS]
    finite = grid[abs(grid) < float("inf")]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    rows, cols = grid.shape
    ink, cell_w, cell_h = colour(name, theme), w / cols, h / rows
    for r in range(rows):
        for c in range(cols):
            value = float(grid[r, c])
            if abs(value) == float("inf"):
                continue
            strength = (value - low) / (high - low or 1)
            ax.add_patch(Rectangle((at[0] + c * cell_w, at[1] + r * cell_h), cell_w * 0.92,
                         cell_h * 0.92, fc=(ink, 0.08 + 0.92 * strength), ec="none"))  # fmt: skip


def _chip(page: Sheet, tape: Tape, now: Moment, theme: Theme) -> None:
    """The panel on the right: the tiles on chip with their values."""
    ax = bare(axes(page, 0.46, 0.98, top=0.85, bottom=0.5))
    grid = _CHIP[tape.algorithm]
    ax.set_xlim(0, 100)
    ax.set_ylim(25 * len(grid) + 3, 0)
    ax.add_patch(Rectangle((0, 0), 100, 25 * len(grid) + 3, fc=colour("panel", theme),
                 ec=colour("line", theme)))  # fmt: skip
    letters = {
        "do": "dO",
        "dq": "dQ",
        "dk": "dK",
        "dv": "dV",
        "dp": "dP",
        "ds": "dS",
        "delta": "Delta",
    }
    for r, line in enumerate(grid):
        for c, name in enumerate(line):
            x, y = 3 + 24.5 * c, 25 * r + 8
            ax.text(x, y - 1.6, letters.get(name, name), color=colour(name, theme), weight="bold",
                    fontsize=10, va="bottom")  # fmt: skip
            values = now.chip.get(name)
            width = 3.5 if name in _COLUMN else 14 if name in ("s", "p", "dp", "ds") else 21.5
            if values is None:
                ax.add_patch(Rectangle((x, y), width, 15, fc="none", ec=colour("ghost", theme),
                             ls=(0, (3, 3))))  # fmt: skip
                continue
            _heat(ax, values, name, theme, (x, y), width, 15)
            if name in _COLUMN:
                for i, value in enumerate(values[:4, 0] if len(values) <= 4 else ()):
                    step = 15 / len(values)
                    ax.text(
                        x + 5, y + (i + 0.5) * step, plain(float(value)), fontsize=9, va="center"
                    )
