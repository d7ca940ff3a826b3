"""The steps of online softmax over one row, as plain data a picture can be drawn from.

Running maxima, denominators and factors come from `reference.online_softmax_states`, the code the
course is judged by; this module orders them into steps and adds two wrong rules to compare with.
It knows no words and no colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch

from ...reference import (
    naive_softmax,
    online_softmax_states,
    safe_softmax,
    subtracting_softmax,
)

Kind = Literal["start", "arrive", "max", "correct", "add", "done"]


@dataclass(frozen=True)
class Frame:
    """One step: what has just happened, and every number that stands in the picture.

    Args:
        kind: "arrive" (a block is here), "max" (m grows or stays), "correct" (the old sum is
            multiplied by the factor), "add" (the new terms join), "done" (divide).
        block: which block is on chip; -1 before the first.
        start, stop: the columns of that block.
        m, l: running maximum and denominator after this step; None before the first block.
        m_old, l_old: the same before this block arrived.
        factor: e^(m_old - m); None where no earlier sum exists.
        terms: e^(x - m) of every column already in l, None elsewhere; probabilities once done.
        subtract: the denominator by the wrong rule that subtracts the rise of m from every term.
        no_max: the denominator without any maximum, in float32; infinite where it overflows.
    """

    kind: Kind
    block: int = -1
    start: int = 0
    stop: int = 0
    m: float | None = None
    l: float | None = None  # noqa: E741  (the course's letter)
    m_old: float | None = None
    l_old: float | None = None
    factor: float | None = None
    terms: list[float | None] = field(default_factory=list)
    subtract: float | None = None
    no_max: float | None = None


@dataclass(frozen=True)
class Run:
    """A whole run over one row.

    Args:
        whole: softmax of the row in one piece, which the last step must equal.
        gap: largest difference between the two.
        first: the probability of the first number by each rule.
    """

    x: list[float]
    blocks: list[int]
    frames: list[Frame]
    whole: list[float]
    gap: float
    first: dict[str, float]

    @property
    def asks(self) -> list[int]:
        """Steps at which a factor is applied to an earlier sum."""
        return [i for i, frame in enumerate(self.frames) if frame.kind == "correct"]


def run(x: Sequence[float], blocks: Sequence[int]) -> Run:
    """Step through `x` cut into `blocks`, a list of sizes that add up to its length.

    Example:
        >>> last = run([1, 2, 3, 4], [2, 2]).frames[-1]
        >>> last.m, round(last.l, 3)
        (4.0, 1.553)
    """
    row = torch.tensor(list(x), dtype=torch.float64)
    now = Frame("start", terms=_terms(row, 0, None))
    frames = [now]
    no_max = torch.zeros((), dtype=torch.float32)

    def step(kind: Kind, **changed: Any) -> None:
        nonlocal now
        now = replace(now, kind=kind, **changed)
        frames.append(now)

    for block, state in enumerate(online_softmax_states(row, list(blocks))):
        start, stop, m, first = state.start, state.stop, state.m, now.m is None
        step("arrive", block=block, start=start, stop=stop, m_old=now.m, l_old=now.l, factor=None)
        step("max", m=m, factor=None if first else state.factor)
        if now.m_old is not None and now.l is not None:
            step(
                "correct",
                l=state.factor * now.l,
                terms=_terms(row, start, m),
                subtract=(now.subtract or 0.0) - start * (m - now.m_old),
            )
        added = float((row[start:stop] - m).exp().sum())
        no_max = no_max + row[start:stop].float().exp().sum()
        step(
            "add",
            l=state.l,
            terms=_terms(row, stop, m),
            subtract=(now.subtract or 0.0) + added,
            no_max=float(no_max),
        )
    assert now.m is not None and now.l is not None
    online = (row - now.m).exp() / now.l
    whole = safe_softmax(row)
    step("done", terms=online.tolist())
    gap = float((online - whole).abs().max())
    by_rule = {
        "multiply": float(online[0]),
        "subtract": float(subtracting_softmax(row, list(blocks))[0]),
        "no_max": float(naive_softmax(row.float())[0]),
    }
    return Run(row.tolist(), list(blocks), frames, whole.tolist(), gap, by_rule)


def _terms(row: torch.Tensor, stop: int, m: float | None) -> list[float | None]:
    """e^(x - m) of the columns before `stop`, None after."""
    seen = [] if m is None else (row[:stop] - m).exp().tolist()
    return [*seen, *[None] * (len(row) - len(seen))]
