"""Which tiles of the score matrix a mask leaves: full, cut at the edge, or skipped."""

from __future__ import annotations

from collections import Counter

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...errors import ArgumentError
from ...language import Text, say
from ...problem import AttentionProblem, TileKind, TileShape, column_tiles, row_tiles, tile_kind
from .. import taking
from ..palette import RESTING, Theme, colour
from .canvas import axes, bare, headline, sheet, source

MOST = 32  # tiles a side: more and the marks are specks

_TITLE = Text("Score tiles of {n} queries × {k} keys", "{n} 个 query × {k} 个 key 的分数块")
_FINDING = Text(
    "{visited} of {total} tiles are computed; the mask is applied in {edge} of them.",
    "{total} 块里算 {visited} 块，其中 {edge} 块要用到掩码。",
)
_WHOLE = Text(
    "All {total} tiles are computed, and none of them is ever stored.",
    "{total} 块全都要算，哪一块都不存下来。",
)
_LEGEND = Text(
    "✓ full: {full}      ╲ masked at the edge: {edge}      ╱ skipped: {skipped}",
    "✓ 完整：{full}      ╲ 边上有掩码：{edge}      ╱ 跳过：{skipped}",
)
_KEYS, _QUERIES = Text("keys", "key"), Text("queries", "query")
_SOURCE = Text(
    "By the rule that the kernels use (fa_toolkit.problem). Tile {m} × {k}; {mask}.",
    "按 kernel 所用的同一规则判定（fa_toolkit.problem）。块 {m} × {k}；{mask}。",
)
_MASKS = {
    "none": Text("no mask", "无掩码"),
    "causal": Text("causal, bottom-right", "因果，右下对齐"),
    "window": Text("window {window}", "窗口 {window}"),
}


def tile_kinds(problem: AttentionProblem, tile: TileShape) -> list[list[TileKind]]:
    """The kind of every tile, row tile by row tile.

    Example:
        >>> tile_kinds(AttentionProblem(len_q=4, len_k=4, causal=True), TileShape(2, 2))
        [['edge', 'skipped'], ['full', 'edge']]
    """
    return [
        [tile_kind(problem, *rows, *cols) for cols in column_tiles(problem, tile)]
        for rows in row_tiles(problem, tile)
    ]


@taking.takes(problem=taking.problem, tile=taking.tile)
def score_tiles(
    problem: AttentionProblem,
    tile: TileShape | None = None,
    *,
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """The score plane as a grid of tiles: tick full, falling slash masked, rising slash skipped.

    Raises:
        ArgumentError: if there is no tile, or more than 32 on a side, too many to mark.
    """
    tile = tile or TileShape()
    # counted before they are listed: a long sequence has billions
    rows, cols = -(-problem.len_q // tile.block_m), -(-problem.len_k // tile.block_n)
    if not 1 <= max(rows, cols) <= MOST or rows * cols == 0:
        raise ArgumentError(
            "tile",
            expected=Text(f"1 to {MOST} tiles on each side", f"每边 1 到 {MOST} 块"),
            got=f"{rows} × {cols}",
            hint=Text("a larger tile or a shorter sequence", "用更大的块，或更短的序列"),
        )
    kinds = tile_kinds(problem, tile)
    count = Counter(kind for row in kinds for kind in row)
    with sheet(7.2, 5.6, theme=theme, lang=lang, figure=figure) as page:
        whole = count["full"] == rows * cols
        headline(page, _TITLE, _WHOLE if whole else _FINDING, n=problem.len_q, k=problem.len_k, total=rows * cols,
                 visited=rows * cols - count["skipped"], edge=count["edge"])  # fmt: skip
        ax = bare(axes(page, 0.11, 0.97, top=1.25, bottom=0.8))
        _plane(ax, problem, tile, kinds, theme)
        _axis_names(ax, problem, tile, rows, cols, theme)
        legend = {kind: count[kind] for kind in ("full", "edge", "skipped")}
        if not whole:
            page.text(0.02, 0.38 / 5.6, say(_LEGEND, **legend), va="bottom", fontsize=10.5)
        source(page, _SOURCE, m=tile.block_m, k=tile.block_n, mask=_mask(problem))
    return page


def _mask(problem: AttentionProblem) -> str:
    parts = [say(_MASKS["causal"])] if problem.causal else []
    if problem.window is not None:
        parts.append(say(_MASKS["window"], window=problem.window))
    return say(Text(", ", "，")).join(parts) or say(_MASKS["none"])


def _plane(
    ax: Axes, problem: AttentionProblem, tile: TileShape, kinds: list[list[TileKind]], theme: Theme
) -> None:
    """The tiles, drawn to the scale of their rows and keys."""
    ghost, soft, ink = colour("ghost", theme), colour("soft", theme), colour("s", theme)
    ax.set_xlim(0, problem.len_k)
    ax.set_ylim(problem.len_q, 0)
    ax.set_aspect("equal" if 0.5 <= problem.len_q / problem.len_k <= 2 else "auto", anchor="NW")
    gap = 0.04
    for rows, line in zip(row_tiles(problem, tile), kinds, strict=True):
        for cols, kind in zip(column_tiles(problem, tile), line, strict=True):
            width, height = cols[1] - cols[0], rows[1] - rows[0]
            x, y = cols[0] + gap * width, rows[0] + gap * height
            w, h = width * (1 - 2 * gap), height * (1 - 2 * gap)
            visited = kind != "skipped"
            ax.add_patch(Rectangle((x, y), w, h, lw=1, ls=(0, (3, 3)),
                         fc=(ink, RESTING) if visited else "none",
                         ec=ink if visited else ghost))  # fmt: skip
            across, down = (x + 0.25 * w, x + 0.75 * w), (y + 0.25 * h, y + 0.75 * h)
            if kind == "skipped":
                ax.plot(across, down[::-1], color=ghost, lw=1.3)
            elif kind == "edge":
                ax.plot(across, down, color=soft, lw=1.3)
            else:
                ax.plot((x + 0.38 * w, x + 0.47 * w, x + 0.64 * w),
                        (y + 0.52 * h, y + 0.63 * h, y + 0.38 * h), color=soft, lw=1.5)  # fmt: skip


def _axis_names(
    ax: Axes, problem: AttentionProblem, tile: TileShape, rows: int, cols: int, theme: Theme
) -> None:
    """Names and the first index of every tile; every few where they would touch."""
    every_x, every_y = -(-cols // 8), -(-rows // 12)
    ax.set_xticks([c[0] for c in column_tiles(problem, tile)][::every_x])
    ax.set_yticks([r[0] for r in row_tiles(problem, tile)][::every_y])
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0, pad=3)
    ax.set_xlabel(f"K  {say(_KEYS)}", color=colour("k", theme), loc="left")
    ax.set_ylabel(f"Q  {say(_QUERIES)}", color=colour("q", theme), loc="top")
