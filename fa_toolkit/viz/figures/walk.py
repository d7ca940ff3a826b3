"""A still of Flash Attention's forward pass: strips in HBM, the plane that never exists, the chip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...errors import ArgumentError
from ...language import Text, say
from ...problem import column_tiles, row_tiles, tile_kind
from .. import taking
from ..numbers import amount, plain, subtrahend
from ..palette import RESTING, Theme, colour
from .canvas import Sheet, axes, bare, headline, sheet, source
from .walk_frames import Moment, Span, moments

if TYPE_CHECKING:
    from ...tiled import Trace

MOST_TILES, MOST_CELLS = 12, 16

_TITLE = Text(
    "Flash Attention, tile by tile   step {n} of {total}",
    "Flash Attention，逐块来   第 {n} 步，共 {total} 步",
)
_CORRECT = Text(
    "A larger score arrived in row {row}: what was gathered before is multiplied by {factor}.",
    "第 {row} 行来了更大的分数：先前累积的一切都乘以 {factor}。",
)
_SAME = Text(
    "Keys {a} to {b} join; no row has a new maximum, so nothing gathered before changes.",
    "key {a} 到 {b} 并入；没有哪行的最大值变了，先前累积的都不用改。",
)
_FIRST = Text("Rows {a} to {b} meet their first keys.", "第 {a} 到 {b} 行遇到第一批 key。")
_STORED = Text(
    "Rows {a} to {b} are done: acc is divided by l and stored once.",
    "第 {a} 到 {b} 行做完了：acc 除以 l，只写出一次。",
)
_SOURCE = Text(
    "Played from a trace of fa_toolkit.tiled. Requested from HBM so far: {moved} of {all}.   "
    "✓ done   ╱ skipped   ╲ masked at the edge",
    "按 fa_toolkit.tiled 的轨迹播放。到目前为止向 HBM 请求了 {moved}，共 {all}。   "
    "✓ 已做   ╱ 跳过   ╲ 边上有掩码",
)
_NEVER = Text("{n} × {k} scores: never stored", "{n} × {k} 个分数：从不写出")
_CHIP = Text("On chip", "芯片上")
_NO_VALUES = Text(
    "trace with keep_values=True\nto see the numbers",
    "用 keep_values=True 记录轨迹，\n就能看到数值",
)
_A_TRACE = Text("a trace of tiled", " tiled 的轨迹")


@taking.takes(
    trace=taking.has("events", "algorithm", of=_A_TRACE), step=taking.whole, head=taking.pair
)
def tile_walk(
    trace: Trace,
    step: int = 0,
    *,
    head: tuple[int, int] = (0, 0),
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """One moment of a traced flash forward pass; there is one per tile and one per stored row tile.

    Args:
        trace: from `tiled.trace_flash_forward`; with keep_values=True the chip shows numbers.
        step: which moment, from 0; negative counts from the end.

    Raises:
        ArgumentError: if the step does not exist, or there are more than 12 tiles on a side.
    """
    every = moments(trace, head)
    if not -len(every) <= step < len(every):
        raise ArgumentError(
            "step", expected=Text(f"0 to {len(every) - 1}", f"0 到 {len(every) - 1}"), got=str(step)
        )
    rows, cols = (list(f(trace.problem, trace.tile)) for f in (row_tiles, column_tiles))
    if max(len(rows), len(cols)) > MOST_TILES:
        raise ArgumentError(
            "trace", expected=Text(f"at most {MOST_TILES} tiles a side", f"每边最多 {MOST_TILES} 块"),
            got=f"{len(rows)} × {len(cols)}",
        )  # fmt: skip
    index = step % len(every)
    now = every[index]
    with sheet(9.6, 4.9, theme=theme, lang=lang, figure=figure) as page:
        headline(page, _title(index, len(every)), _sentence(now, trace))
        left = bare(axes(page, 0.02, 0.43, top=0.85, bottom=0.5))
        _strips(left, trace, now, rows, cols, theme)
        _chip(page, now, theme)
        source(page, _SOURCE, moved=amount(now.moved), all=amount(every[-1].moved))
    return page


def _title(index: int, total: int) -> Text:
    return Text(*(part.format(n=index + 1, total=total) for part in _TITLE))


def _row_of_interest(now: Moment) -> int | None:
    """The row whose earlier sum shrinks most; None if none does."""
    alpha, old = now.values.get("alpha"), now.before.get("m")
    if alpha is None or old is None:
        return None
    row = int(alpha.argmin())
    return row if float(alpha[row]) < 1 else None


def _sentence(now: Moment, trace: Trace) -> Text:
    row = _row_of_interest(now)
    if now.cols is None:
        return _filled(_STORED, a=now.rows[0], b=now.rows[1] - 1)
    if row is not None:
        factor = plain(float(now.values["alpha"][row]))
        return _filled(_CORRECT, row=now.rows[0] + row, factor=factor)
    if not any(rows == now.rows for rows, _ in now.visited):
        return _filled(_FIRST, a=now.rows[0], b=now.rows[1] - 1)
    if "alpha" in now.values:
        return _filled(_SAME, a=now.cols[0], b=now.cols[1] - 1)
    return _filled(
        Text("Keys {a} to {b} join.", "key {a} 到 {b} 并入。"), a=now.cols[0], b=now.cols[1] - 1
    )


def _filled(text: Text, **fields: object) -> Text:
    return Text(*(part.format(**fields) for part in text))


def _box(
    ax: Axes, x: float, y: float, w: float, h: float, name: str, theme: Theme, on: bool
) -> None:
    ink = colour(name, theme)
    pad_x, pad_y = min(0.06, 0.06 * w), min(0.06, 0.06 * h)
    ax.add_patch(Rectangle((x + pad_x, y + pad_y), w - 2 * pad_x, h - 2 * pad_y,
                 fc=ink if on else (ink, RESTING), ec=colour("focus", theme) if on else "none",
                 lw=1.8))  # fmt: skip


def _strips(
    ax: Axes, trace: Trace, now: Moment, rows: list[Span], cols: list[Span], theme: Theme
) -> None:
    """Q, K, V, O as strips around the score plane; one unit is one tile."""
    height, width, thick = len(rows), len(cols), 0.09 * max(len(rows), len(cols))
    gap = thick * 0.5
    ax.set_xlim(-1.6 * thick, width + 1.6 * thick)
    ax.set_ylim(height + 2.7 * thick, -2.5 * thick)
    ax.set_aspect("equal", anchor="NW")
    for i, span in enumerate(rows):
        _box(ax, -gap - thick, i, thick, 1, "q", theme, span == now.rows)
        stored = span in now.stored
        _box(ax, width + gap, i, thick, 1, "o", theme, now.cols is None and span == now.rows)
        if stored:
            _tick(ax, width + gap + thick / 2, i + 0.5, thick, colour("soft", theme))
    for j, span in enumerate(cols):
        _box(ax, j, -gap - thick, 1, thick, "k", theme, span == now.cols)
        _box(ax, j, height + gap, 1, thick, "v", theme, span == now.cols)
    for i, row in enumerate(rows):
        for j, col in enumerate(cols):
            _tile(ax, i, j, trace, now, row, col, theme)
    for name, x, y in (("Q", -gap - thick / 2, -gap * 0.6), ("O", width + gap + thick / 2, -gap * 0.6),
                       ("K", 0.06, -gap - thick * 1.15), ("V", 0.06, height + gap + thick * 2.1)):  # fmt: skip
        side: Any = {"ha": "center"} if name in "QO" else {"ha": "left"}
        ax.text(x, y, name, color=colour(name, theme), weight="bold", va="bottom", **side)
    ax.text(width, height + gap + thick * 2.1, say(_NEVER, n=trace.problem.len_q,
            k=trace.problem.len_k), ha="right", va="bottom", fontsize=9.5,
            color=colour("soft", theme))  # fmt: skip


def _tile(
    ax: Axes, i: int, j: int, trace: Trace, now: Moment, row: Span, col: Span, theme: Theme
) -> None:
    ghost, soft, ink = colour("ghost", theme), colour("soft", theme), colour("s", theme)
    current = (row, col) == (now.rows, now.cols)
    ax.add_patch(Rectangle((j + 0.05, i + 0.05), 0.9, 0.9, fc=(ink, RESTING) if current else "none",
                 ec=ink if current else ghost, lw=2 if current else 1.1,
                 ls="-" if current else (0, (3, 3))))  # fmt: skip
    kind = tile_kind(trace.problem, *row, *col)
    if (row, col) in now.visited:
        _tick(ax, j + 0.5, i + 0.5, 1, soft)
    elif kind == "skipped":
        ax.plot((j + 0.28, j + 0.72), (i + 0.72, i + 0.28), color=ghost, lw=1.2)
    elif kind == "edge" and not current:
        ax.plot((j + 0.28, j + 0.72), (i + 0.28, i + 0.72), color=ghost, lw=1.2)
    if current and "p" in now.values:
        _heat(ax, now.values["p"], "p", theme, (j + 0.14, i + 0.14), 0.72, 0.72)


def _tick(ax: Axes, x: float, y: float, size: float, ink: str) -> None:
    xs = (x - 0.12 * size, x - 0.03 * size, x + 0.14 * size)
    ax.plot(xs, (y + 0.02 * size, y + 0.11 * size, y - 0.11 * size), color=ink, lw=1.5)


def _heat(
    ax: Axes, tile: Any, name: str, theme: Theme, at: tuple[float, float], w: float, h: float
) -> None:
    """Values as opacity of the tensor's colour, between the tile's own ends."""
    grid = tile.reshape(tile.shape[0], -1)[:MOST_CELLS, :MOST_CELLS].float()
    finite = grid[grid.isfinite()]
    low, high = (float(finite.min()), float(finite.max())) if finite.numel() else (0.0, 0.0)
    rows, cols = grid.shape
    ink, cell_w, cell_h = colour(name, theme), w / cols, h / rows
    for r in range(rows):
        for c in range(cols):
            value = float(grid[r, c])
            strength = 0.0 if value == float("-inf") else (value - low) / (high - low or 1)
            ax.add_patch(Rectangle((at[0] + c * cell_w, at[1] + r * cell_h), cell_w * 0.92,
                         cell_h * 0.92, fc=(ink, 0.08 + 0.92 * strength), ec="none"))  # fmt: skip


def _chip(page: Sheet, now: Moment, theme: Theme) -> None:
    """The panel on the right: tiles on chip with their values, and the live formula."""
    ax = bare(axes(page, 0.46, 0.98, top=0.85, bottom=0.5))
    ax.set_xlim(0, 100)
    ax.set_ylim(71, 0)
    ax.add_patch(Rectangle((0, 0), 100, 71, fc=colour("panel", theme), ec=colour("line", theme)))
    ax.text(3, 5, say(_CHIP), color=colour("soft", theme), weight="bold", fontsize=9.5, va="center")
    if not now.values:
        ax.text(50, 38, say(_NO_VALUES), ha="center", va="center", color=colour("soft", theme))
        return
    places = {"q": (3, 14), "k": (29, 14), "v": (55, 14), "s": (81, 14),
              "acc": (3, 36), "p": (81, 36)}  # fmt: skip
    for name, (x, y) in places.items():
        if name in now.values:
            ax.text(x, y - 2.6, name, color=colour(name, theme), weight="bold", fontsize=10)
            _heat(ax, now.values[name], name, theme, (x, y), 22 if x < 80 else 15, 14)
    for name, x in (("m", 32), ("l", 56)):
        if name in now.values:
            ax.text(x, 33.4, name, color=colour(name, theme), weight="bold", fontsize=10)
            values = now.values[name].reshape(-1)[:4]
            for r, value in enumerate(values):
                ax.text(x, 37.6 + r * 3.7, f"{plain(float(value)):>6}", fontsize=9, va="center")
    _formula(ax, now, theme)


def _formula(ax: Axes, now: Moment, theme: Theme) -> None:
    """m, factor, l and acc of one row, aligned at the colon."""
    if now.cols is None or "alpha" not in now.values:
        lines = {"o": ("acc / l", "o"), "lse": ("m + log(l)", "lse")} if now.cols is None else {}
        row = 0
    else:
        row = _row_of_interest(now) or 0
        m, l, alpha = (float(now.values[n][row]) for n in ("m", "l", "alpha"))  # noqa: E741
        m_old = float(now.before["m"][row]) if "m" in now.before else float("-inf")
        l_old = float(now.before["l"][row]) if "l" in now.before else 0.0
        here = float(now.values["s"][row].max())
        added = float(now.values["p"][row].sum())
        a = plain(alpha)
        lines = {
            "m": (f"max({plain(m_old)}, {plain(here)}) = {plain(m)}", "m"),
            "factor": (f"e^({plain(m_old)} − {subtrahend(m)}) = {a}", "factor"),
            "l": (f"{a} · {plain(l_old)} + {plain(added)} = {plain(l)}", "l"),
            "acc": (f"{a} · acc + p · v", "acc"),
        }
    mono: Any = {"family": ["DejaVu Sans Mono"], "fontsize": 10, "va": "center"}
    if lines:
        name = say(Text("row {n}", "第 {n} 行"), n=now.rows[0] + row) if now.cols else ""
        ax.text(3, 55.5, name, fontsize=10, va="center", color=colour("soft", theme))
    for r, (name, (text, tensor)) in enumerate(lines.items()):
        y = 55.5 + r * 4.1
        ax.text(32, y, f"{name}:", ha="right", color=colour(tensor, theme), weight="bold", **mono)
        ax.text(34, y, text, **mono)
