"""Which addresses one program of a kernel touches, masked lanes included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...errors import ArgumentError
from ...language import Text, say
from .. import taking
from ..palette import RESTING, Theme, colour
from .canvas import axes, bare, headline, sheet, source

WRAP = 16  # cells of a 1-D tensor in one line of the picture
MOST_ROWS, MOST_COLS = 16, 20

_TITLE = Text(
    "Program {pid} of a grid of {grid}: its block of pointers",
    "网格 {grid} 里的程序实例 {pid}：它的指针块",
)
_FINDING = Text(
    "{lanes} lanes, {live} of them inside the tensor; the mask switches off {dead}.",
    "{lanes} 个 lane，{live} 个落在张量里；掩码关掉 {dead} 个。",
)
_ALL = Text(
    "{lanes} lanes, all inside the tensor: the mask switches none off.",
    "{lanes} 个 lane 全在张量里：掩码一个也不关。",
)
_LEGEND = Text(
    "number: elements from the base pointer    solid: this program    ╲ masked off",
    "数字：距首地址的元素个数    实心：本程序实例    ╲ 被掩码关掉",
)


@dataclass(frozen=True)
class Lane:
    """One lane of a program: the element it points at and whether that lies in the tensor."""

    index: tuple[int, ...]
    offset: int
    live: bool


def lanes(
    shape: Sequence[int], block: Sequence[int], program: Sequence[int], strides: Sequence[int]
) -> list[Lane]:
    """The lanes of one program, row by row.

    Example:
        >>> [lane.offset for lane in lanes((5,), (4,), (1,), (1,)) if lane.live]
        [4]
    """
    ranges = [range(p * b, (p + 1) * b) for p, b in zip(program, block, strict=True)]
    indices: list[tuple[int, ...]] = [()]
    for axis in ranges:
        indices = [(*index, i) for index in indices for i in axis]
    return [
        Lane(
            index,
            sum(i * s for i, s in zip(index, strides, strict=True)),
            all(i < n for i, n in zip(index, shape, strict=True)),
        )
        for index in indices
    ]


@taking.takes(
    shape=taking.wholes, block=taking.wholes, program=taking.wholes, strides=taking.wholes
)
def pointer_grid(
    shape: int | Sequence[int],
    block: int | Sequence[int],
    program: int | Sequence[int] = 0,
    *,
    strides: Sequence[int] | None = None,
    tensor: str = "q",
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """A tensor as cells of memory, the block of one program lit, its masked lanes struck out.

    Args:
        shape: (n,) or (rows, columns).
        block: BLOCK sizes, one per axis.
        program: program index, one per axis.
        strides: elements between neighbours on each axis; None: contiguous.
        tensor: whose colour to use.

    Raises:
        ArgumentError: if the axes do not match, a size is below 1, the program lies outside the
            grid, or the picture would be larger than 16 x 20 cells.

    Example:
        >>> pointer_grid(10, 4, program=2).fa_alt.split(".")[1]
        ' 4 lanes, 2 of them inside the tensor; the mask switches off 2'
    """
    dims, blocks, pid = (_tuple(v) for v in (shape, block, program))
    grid = _check(dims, blocks, pid)
    steps = tuple(strides) if strides is not None else ((*dims[1:], 1)[-len(dims) :])
    mine = lanes(dims, blocks, pid, steps)
    dead = sum(not lane.live for lane in mine)
    cells = _cells(dims, blocks, pid)
    rows, cols = max(r for r, _ in cells) + 1, max(c for _, c in cells) + 1
    with sheet(
        max(7.0, 1.2 + cols * 0.44), 2.0 + rows * 0.4, theme=theme, lang=lang, figure=figure
    ) as page:
        shown = str(pid[0]) if len(pid) == 1 else str(pid)
        headline(page, _TITLE, _FINDING if dead else _ALL, pid=shown,
                 grid=" × ".join(map(str, grid)), lanes=len(mine), live=len(mine) - dead,
                 dead=dead)  # fmt: skip
        ax = bare(axes(page, 0.02, 0.98, top=0.95, bottom=0.8))
        ax.set_xlim(-0.05, max(cols, (page.get_size_inches()[0] * 0.96) / 0.44))
        ax.set_ylim(rows, -0.05)
        _draw(ax, dims, steps, mine, tensor, theme)
        height = page.get_size_inches()[1]
        page.text(0.02, 0.38 / height, say(_LEGEND), va="bottom", fontsize=10)
        source(page, _plain_text(_formula(dims, blocks, pid, steps)))
    return page


def _tuple(value: int | Sequence[int]) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


def _check(dims: tuple[int, ...], block: tuple[int, ...], pid: tuple[int, ...]) -> tuple[int, ...]:
    def wrong(name: str, expected: Text, got: object) -> ArgumentError:
        return ArgumentError(name, expected=expected, got=str(got))

    if len(dims) not in (1, 2) or not len(dims) == len(block) == len(pid):
        raise wrong(
            "block", Text("one size per axis, one or two axes", "每个轴一个数，一轴或两轴"), block
        )
    if min(*dims, *block) < 1:
        raise wrong("shape", Text("sizes of 1 or more", "不小于 1 的大小"), (dims, block))
    grid = tuple(-(-n // b) for n, b in zip(dims, block, strict=True))
    if not all(0 <= p < g for p, g in zip(pid, grid, strict=True)):
        raise wrong(
            "program", Text(f"an index inside the grid {grid}", f"网格 {grid} 之内的编号"), pid
        )
    reach = [max(n, (p + 1) * b) for n, p, b in zip(dims, pid, block, strict=True)]
    small = reach[0] <= WRAP * MOST_ROWS if len(dims) == 1 else (
        reach[0] <= MOST_ROWS and reach[1] <= MOST_COLS)  # fmt: skip
    if not small:
        expected = Text(
            f"at most {WRAP * MOST_ROWS} elements, or {MOST_ROWS} × {MOST_COLS}: more cannot be read",
            f"最多 {WRAP * MOST_ROWS} 个元素，或 {MOST_ROWS} × {MOST_COLS}：再多就看不清",
        )
        raise wrong("shape", expected, dims)
    return grid


def _cell(index: tuple[int, ...]) -> tuple[int, int]:
    return divmod(index[0], WRAP) if len(index) == 1 else (index[0], index[1])


def _cells(
    dims: tuple[int, ...], block: tuple[int, ...], pid: tuple[int, ...]
) -> list[tuple[int, int]]:
    reach = [max(n, (p + 1) * b) for n, p, b in zip(dims, pid, block, strict=True)]
    if len(reach) == 1:
        return [_cell((i,)) for i in range(reach[0])]
    return [(r, c) for r in range(reach[0]) for c in range(reach[1])]


def _draw(
    ax: Axes,
    dims: tuple[int, ...],
    strides: tuple[int, ...],
    mine: list[Lane],
    tensor: str,
    theme: Theme,
) -> None:
    ink, ghost, focus = (colour(name, theme) for name in (tensor, "ghost", "focus"))
    owned = {lane.index: lane for lane in mine}
    whole = lanes(dims, dims, (0,) * len(dims), strides)
    for lane in [*whole, *(lane for lane in mine if not lane.live)]:
        row, col = _cell(lane.index)
        lit = lane.index in owned and lane.live
        face = ink if lit else (ink, RESTING) if lane.live else "none"
        edge = focus if lit else ghost if not lane.live else "none"
        ax.add_patch(Rectangle((col + 0.05, row + 0.05), 0.9, 0.9, fc=face, ec=edge,
                     lw=1.6 if lit else 1, ls="-" if lit else (0, (3, 3))))  # fmt: skip
        if lane.live:
            shade = colour("page", theme) if lit else colour("text", theme)
            ax.text(col + 0.5, row + 0.52, str(lane.offset), ha="center", va="center",
                    fontsize=9.5 if lane.offset < 1000 else 8, color=shade)  # fmt: skip
        else:
            ax.plot((col + 0.3, col + 0.7), (row + 0.3, row + 0.7), color=ghost, lw=1.3)


def _formula(
    dims: tuple[int, ...], block: tuple[int, ...], pid: tuple[int, ...], strides: tuple[int, ...]
) -> str:
    """The pointer arithmetic of this program, as a kernel writes it."""
    names = ("offs_m", "offs_n") if len(dims) == 2 else ("offs",)
    made = [f"{name} = {p}·{b} + arange({b})" for name, p, b in zip(names, pid, block, strict=True)]
    terms = [name if s == 1 else f"{name}·{s}" for name, s in zip(names, strides, strict=True)]
    mask = " & ".join(f"{name} < {n}" for name, n in zip(names, dims, strict=True))
    return ";  ".join([*made, f"address = {' + '.join(terms)}", f"mask = {mask}"])


def _plain_text(text: str) -> Text:
    return Text(text, text)
