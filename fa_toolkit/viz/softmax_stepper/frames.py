"""The steps of softmax over one row in three ways, as plain data a picture can be drawn from.

Three passes, online, and merged parts: running maxima, sums and factors come from
`reference.online_softmax_states`, acc and the merge from `tiled.SoftmaxState`, the codes the course
is judged by and built on. This module orders them into steps and adds two wrong rules to compare
with. It knows no words and no colours; `static/softmax_run.js` makes the same frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from ...reference import (
    naive_softmax,
    online_softmax_states,
    safe_softmax,
    subtracting_softmax,
)
from ...tiled import SoftmaxState

View = Literal["three", "online", "merged"]
VIEWS: tuple[View, ...] = ("three", "online", "merged")
Kind = Literal[
    "start", "arrive", "max", "correct", "add",  # online
    "scan", "sum", "write",  # three passes
    "own_max", "own_sum", "meet", "weigh", "join",  # merged
    "done",
]  # fmt: skip
ASKS = ("correct", "weigh")
Numbers = list[float]
Part = tuple[float, float, Numbers]


@dataclass(frozen=True)
class Frame:
    """One step: what has just happened, and every number that stands in the picture.

    Args:
        kind: online: "arrive" (a block is here), "max" (m grows or stays), "correct" (the old sum
            is multiplied by the factor), "add" (the new terms join). Three passes: "scan" (m of all
            blocks), "sum" (l), "write" (p and o). Merged: "own_max", "own_sum" (a block alone),
            "meet" (the larger m of two parts), "weigh" (each part times its factor), "join" (the
            parts are added). All: "start", "done" (divide).
        block: the block on chip, or the part that joins; -1 before the first.
        start, stop: the columns of that block.
        m, l, acc: running maximum, denominator and weighted sum of V after this step.
        m_old, l_old, acc_old: the same before this block or part arrived.
        m_in, l_in, acc_in: those of the part that joins (merged).
        factor: e^(m_old - m); None where no earlier sum exists.
        factor_in: e^(m_in - m), of the part that joins.
        terms: e^(x - m) of every column already counted, None elsewhere; probabilities once done.
        subtract: the denominator by the wrong rule that subtracts the rise of m from every term.
        no_max: the denominator without any maximum, in float32; infinite where it overflows.
        parts: (m, l, acc) of every block worked on alone (merged).
        reads: numbers of x read so far.
        out: the output o, once divided.
    """

    kind: Kind
    block: int = -1
    start: int = 0
    stop: int = 0
    m: float | None = None
    l: float | None = None  # noqa: E741  (the course's letter)
    acc: Numbers | None = None
    m_old: float | None = None
    l_old: float | None = None
    acc_old: Numbers | None = None
    m_in: float | None = None
    l_in: float | None = None
    acc_in: Numbers | None = None
    factor: float | None = None
    factor_in: float | None = None
    terms: list[float | None] = field(default_factory=list)
    subtract: float | None = None
    no_max: float | None = None
    parts: tuple[Part, ...] = ()
    reads: int = 0
    out: Numbers | None = None


@dataclass(frozen=True)
class Run:
    """One row, played three ways.

    Args:
        v: one row of V for each number of x.
        views: the steps of each way.
        whole, out: softmax of the row in one piece, and its output, which every way must equal.
        gaps: largest difference of each way's probabilities to `whole`.
        first: the probability of the first number by each rule.
    """

    x: Numbers
    blocks: list[int]
    v: list[Numbers]
    views: dict[View, list[Frame]]
    whole: Numbers
    out: Numbers
    gaps: dict[View, float]
    first: dict[str, float]

    @property
    def frames(self) -> list[Frame]:
        """The steps of online softmax."""
        return self.views["online"]

    @property
    def gap(self) -> float:
        """Largest difference between online softmax and that of the whole row."""
        return self.gaps["online"]

    @property
    def asks(self) -> list[int]:
        """Steps of online softmax at which a factor is applied to an earlier sum."""
        return [i for i, frame in enumerate(self.frames) if frame.kind in ASKS]


def default_values(length: int) -> list[Numbers]:
    """V where nobody gave one: the key's number, and whether it is odd.

    With these, o holds the mean position of what the row attends to, and the weight of odd keys.

    Example:
        >>> default_values(3)
        [[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
    """
    return [[float(i + 1), float(1 - i % 2)] for i in range(length)]


def run(
    x: Sequence[float], blocks: Sequence[int], v: Sequence[Sequence[float]] | None = None
) -> Run:
    """Step through `x` cut into `blocks`, a list of sizes that add up to its length.

    Example:
        >>> last = run([1, 2, 3, 4], [2, 2]).frames[-1]
        >>> last.m, round(last.l, 3), [round(o, 2) for o in last.out]
        (4.0, 1.553, [3.49, 0.27])
    """
    row = torch.tensor(list(x), dtype=torch.float64)
    values = torch.tensor(default_values(len(row)) if v is None else v, dtype=torch.float64)
    sizes = list(blocks)
    cuts = [(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(sizes))]
    views: dict[View, list[Frame]] = {
        "three": _three(row, values, cuts),
        "online": _online(row, values, sizes),
        "merged": _merged(row, values, cuts),
    }
    whole = safe_softmax(row)
    gaps = {
        view: float((torch.tensor(frames[-1].terms, dtype=torch.float64) - whole).abs().max())
        for view, frames in views.items()
    }
    by_rule = {
        "multiply": float(views["online"][-1].terms[0] or 0.0),
        "subtract": float(subtracting_softmax(row, sizes)[0]),
        "no_max": float(naive_softmax(row.float())[0]),
    }
    out: Numbers = (whole @ values).tolist()
    return Run(row.tolist(), sizes, values.tolist(), views, whole.tolist(), out, gaps, by_rule)


class _Reel:
    """Collects frames; each begins as the one before it."""

    def __init__(self, row: Tensor) -> None:
        self.now = Frame("start", terms=[None] * len(row))
        self.frames = [self.now]

    def step(self, kind: Kind, **changed: Any) -> None:
        """Add a frame that differs from the last in what is given."""
        self.now = replace(self.now, kind=kind, **changed)
        self.frames.append(self.now)


def _online(row: Tensor, values: Tensor, blocks: list[int]) -> list[Frame]:
    """Each block once; what was gathered is corrected when the maximum rises."""
    reel = _Reel(row)
    no_max = torch.zeros((), dtype=torch.float32)
    kept = _nothing(values)
    for block, state in enumerate(online_softmax_states(row, blocks)):
        start, stop, m, now = state.start, state.stop, state.m, reel.now
        reel.step("arrive", block=block, start=start, stop=stop, m_old=now.m, l_old=now.l,
                  acc_old=now.acc, factor=None, reads=stop)  # fmt: skip
        first = now.m is None
        reel.step("max", m=m, factor=None if first else state.factor)
        now = reel.now
        if now.m_old is not None and now.l is not None and now.acc is not None:
            reel.step(
                "correct",
                l=state.factor * now.l,
                acc=[state.factor * a for a in now.acc],
                terms=_terms(row, start, m),
                subtract=(now.subtract or 0.0) - start * (m - now.m_old),
            )
        added = float((row[start:stop] - m).exp().sum())
        no_max = no_max + row[start:stop].float().exp().sum()
        kept = kept.update(row[None, start:stop], values[start:stop])
        reel.step(
            "add", l=state.l, acc=kept.acc[0].tolist(), terms=_terms(row, stop, m),
            subtract=(reel.now.subtract or 0.0) + added, no_max=float(no_max),
        )  # fmt: skip
    return _divided(reel, row)


def _three(row: Tensor, values: Tensor, cuts: list[tuple[int, int]]) -> list[Frame]:
    """All blocks for the maximum, all again for the sum, all again for the output."""
    reel = _Reel(row)
    for block, (start, stop) in enumerate(cuts):
        reel.step("scan", block=block, start=start, stop=stop, m_old=reel.now.m,
                  m=float(row[:stop].max()), reads=stop)  # fmt: skip
    m = float(row.max())
    for block, (start, stop) in enumerate(cuts):
        reel.step("sum", block=block, start=start, stop=stop, m_old=m, l_old=reel.now.l,
                  l=float((row[:stop] - m).exp().sum()), terms=_terms(row, stop, m),
                  reads=len(row) + stop)  # fmt: skip
    p = safe_softmax(row)
    for block, (start, stop) in enumerate(cuts):
        shown: list[float | None] = [*p[:stop].tolist(), *[None] * (len(row) - stop)]
        reel.step("write", block=block, start=start, stop=stop, l_old=None, acc_old=reel.now.acc,
                  acc=(p[:stop] @ values[:stop]).tolist(), terms=shown,
                  reads=2 * len(row) + stop)  # fmt: skip
    reel.step("done", out=reel.now.acc)
    return reel.frames


def _merged(row: Tensor, values: Tensor, cuts: list[tuple[int, int]]) -> list[Frame]:
    """Each block on its own, as if on different chips; then the parts are merged, left to right."""
    reel = _Reel(row)
    states = []
    for block, (start, stop) in enumerate(cuts):
        part = _nothing(values).update(row[None, start:stop], values[start:stop])
        states.append(part)
        m, total, acc = _plain(part)
        reel.step("own_max", block=block, start=start, stop=stop, m=m, l=None, acc=None, reads=stop)
        terms = [*reel.now.terms]
        terms[start:stop] = (row[start:stop] - m).exp().tolist()
        reel.step(
            "own_sum", l=total, acc=acc, terms=terms, parts=(*reel.now.parts, (m, total, acc))
        )
    gathered = states[0]
    m, total, acc = _plain(gathered)
    reel.now = replace(reel.now, m=m, l=total, acc=acc)
    for block, ((start, stop), part) in enumerate(zip(cuts[1:], states[1:], strict=True), 1):
        (m_old, l_old, acc_old), (m_in, l_in, acc_in) = _plain(gathered), _plain(part)
        m = max(m_old, m_in)
        mine, theirs = (
            float(torch.tensor(old - m, dtype=torch.float64).exp()) for old in (m_old, m_in)
        )
        reel.step("meet", block=block, start=start, stop=stop, m=m, m_old=m_old, l_old=l_old,
                  acc_old=acc_old, m_in=m_in, l_in=l_in, acc_in=acc_in, factor=mine,
                  factor_in=theirs)  # fmt: skip
        reel.step("weigh", l=mine * l_old, acc=[mine * a for a in acc_old],
                  terms=[*_terms(row, stop, m)[:stop], *reel.now.terms[stop:]])  # fmt: skip
        gathered = gathered.merge(part)
        _, total, acc = _plain(gathered)
        reel.step("join", l=total, acc=acc)
    return _divided(reel, row)


def _divided(reel: _Reel, row: Tensor) -> list[Frame]:
    """The last step: acc / l and the probabilities."""
    m, total, acc = reel.now.m, reel.now.l, reel.now.acc
    assert m is not None and total is not None and acc is not None
    reel.step("done", terms=((row - m).exp() / total).tolist(), out=[a / total for a in acc])
    return reel.frames


def _nothing(values: Tensor) -> SoftmaxState:
    return SoftmaxState.empty((1,), values.shape[1], dtype=torch.float64)


def _plain(state: SoftmaxState) -> Part:
    """One row's state as numbers."""
    acc: Numbers = state.acc[0].tolist()
    return float(state.m), float(state.l), acc


def _terms(row: Tensor, stop: int, m: float | None) -> list[float | None]:
    """e^(x - m) of the columns before `stop`, None after."""
    seen = [] if m is None else (row[:stop] - m).exp().tolist()
    return [*seen, *[None] * (len(row) - len(seen))]
