"""HBM traffic of standard attention's three phases beside Flash Attention's one, by tensor."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...io_model import Traffic, flash_forward_traffic, standard_forward_traffic
from ...language import Text, say
from ...problem import AttentionProblem, TileShape
from .. import taking
from ..numbers import amount, plain
from ..palette import RESTING, Theme, colour
from .canvas import axes, bare, headline, sheet, source

#: Which tensors the phases of standard attention read and write; each pair occurs once.
_STANDARD = {
    "scores": (("read", "Q"), ("read", "K"), ("write", "S")),
    "softmax": (("read", "S"), ("write", "P")),
    "output": (("read", "P"), ("read", "V"), ("write", "O")),
}
_FLASH = {
    "forward": (("read", "Q"), ("read", "K"), ("read", "V"), ("write", "O"), ("write", "lse"))
}
_PHASES = {
    "scores": Text("1  S = QKᵀ", "1  S = QKᵀ"),
    "softmax": Text("2  P = softmax(S)", "2  P = softmax(S)"),
    "output": Text("3  O = PV", "3  O = PV"),
    "forward": Text("1  all in one", "1  一次做完"),
}
_READ, _WRITE = Text("read", "读"), Text("write", "写")
_TITLE = Text("What crosses between HBM and the chip", "HBM 与芯片之间搬了什么")
_FINDING = Text(
    "Standard attention moves {more} times the bytes: S and P cross twice each.",
    "标准注意力搬的字节是 {more} 倍：S 和 P 各过两趟。",
)
_LESS = Text(
    "Here Flash Attention moves {more} times the bytes: too few rows share each K and V tile.",
    "这里 Flash Attention 反而搬了 {more} 倍的字节：共用每块 K、V 的行太少。",
)
_SIDES = {
    "standard": Text(
        "standard: {phases} phases, {crossings} crossings; {reads} tensors read, {writes} written",
        "标准：{phases} 个阶段，{crossings} 趟；读 {reads} 个张量，写 {writes} 个",
    ),
    "flash": Text(
        "flash: {phases} phase, {crossings} crossings; {reads} tensors read, {writes} written",
        "flash：{phases} 个阶段，{crossings} 趟；读 {reads} 个张量，写 {writes} 个",
    ),
}
_SOURCE = Text(
    "Modelled by fa_toolkit.io_model: bytes requested from HBM, caches ignored. "
    "N = {n}, D = {d}, {heads}{dtype}, tile {m} × {k}{causal}.",
    "由 fa_toolkit.io_model 算出：向 HBM 请求的字节，不计缓存。"
    "N = {n}，D = {d}，{heads}{dtype}，块 {m} × {k}{causal}。",
)


@dataclass(frozen=True)
class Row:
    """One bar: a tensor read or written in a phase."""

    phase: str
    way: str
    tensor: str
    bytes: int


def traffic_rows(bill: Traffic) -> list[Row]:
    """The bill of one algorithm as bars, in the order in which things cross.

    Example:
        >>> problem = AttentionProblem(len_q=64, len_k=64, head_dim=16)
        >>> bill = standard_forward_traffic(problem, TileShape(32, 32))
        >>> sum(row.bytes for row in traffic_rows(bill)) == bill.total
        True
    """
    plan = _FLASH if "forward" in bill.phases else _STANDARD
    return [
        Row(phase, way, tensor, bill.by_tensor.get(tensor, (0, 0))[way == "write"])
        for phase, moves in plan.items()
        for way, tensor in moves
    ]


@taking.takes(problem=taking.problem, tile=taking.tile)
def traffic_bars(
    problem: AttentionProblem,
    tile: TileShape | None = None,
    *,
    theme: Theme = "auto",
    lang: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Bytes by phase, direction and tensor: standard attention left, Flash Attention right."""
    tile = tile or TileShape()
    bills = {
        "standard": standard_forward_traffic(problem, tile),
        "flash": flash_forward_traffic(problem, tile),
    }
    longest = max(row.bytes for bill in bills.values() for row in traffic_rows(bill)) or 1
    with sheet(9.6, 4.9, theme=theme, lang=lang, figure=figure) as page:
        totals = [bill.total or 1 for bill in bills.values()]
        fewer = totals[0] >= totals[1]
        headline(page, _TITLE, _FINDING if fewer else _LESS, more=plain(max(totals) / min(totals)))
        for side, left, right in (("standard", 0.02, 0.49), ("flash", 0.52, 0.99)):
            _side(axes(page, left, right, top=0.85, bottom=0.45), bills[side], side, longest, theme)
        heads = "" if problem.heads_q * problem.batch == 1 else _heads(problem)
        source(page, _SOURCE, n=_lengths(problem), d=problem.head_dim, dtype=problem.dtype,
               m=tile.block_m, k=tile.block_n, heads=heads,
               causal=say(Text(", causal", "，因果")) if problem.causal else "")  # fmt: skip
    return page


def _lengths(problem: AttentionProblem) -> str:
    same = problem.len_q == problem.len_k
    return f"{problem.len_q:,}" if same else f"{problem.len_q:,} × {problem.len_k:,}"


def _heads(problem: AttentionProblem) -> str:
    return say(Text("B·H = {n}, ", "B·H = {n}，"), n=problem.batch * problem.heads_q)


def _side(ax: Axes, bill: Traffic, side: str, longest: int, theme: Theme) -> None:
    bare(ax)
    ax.set_xlim(0, longest * 1.95)
    ax.set_ylim(13.9, -0.9)
    soft = colour("soft", theme)
    start = 0.42 * longest
    head = say(
        _SIDES[side], phases=len(bill.phases), crossings=sum((r > 0) + (w > 0) for r, w in bill.phases.values()),
        reads=sum(r > 0 for r, _ in bill.by_tensor.values()),
        writes=sum(w > 0 for name, (_, w) in bill.by_tensor.items() if name != "lse"),
    )  # fmt: skip
    ax.text(0, -0.6, head, fontsize=10, color=soft, va="center")
    y, phase = 0.3, ""
    for row in traffic_rows(bill):
        if row.phase != phase:
            y += 0.35
            ax.text(0, y, say(_PHASES[row.phase]), va="center", weight="bold", fontsize=10.5)
            phase, y = row.phase, y + 1
        ink = colour(row.tensor, theme)
        ax.text(start - longest * 0.03, y, _label(row), ha="right", va="center", color=ink)
        face = {"color": ink} if row.way == "read" else {
            "facecolor": (ink, RESTING), "edgecolor": ink, "linewidth": 1.2}  # fmt: skip
        ax.barh(y, row.bytes, left=start, height=0.62, **face)
        ax.text(start + row.bytes + longest * 0.025, y, amount(row.bytes), va="center")
        y += 1
    ax.text(0, 13.3, say(Text("{n} in all", "共 {n}"), n=amount(bill.total)), va="center",
            weight="bold")  # fmt: skip


def _label(row: Row) -> str:
    return f"{say(_READ if row.way == 'read' else _WRITE)} {row.tensor}"
