"""The running state (m, factor, l, acc) of one row as plain numbers, for tables to be filled in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class RunningState(NamedTuple):
    """The state of one row after a block: m, what the old sums were multiplied by, l and acc."""

    m: float
    factor: float
    l: float  # noqa: E741  (the letter of the formula)
    acc: float


def running_states(
    x: Sequence[float], v: Sequence[float], blocks: int | Sequence[int]
) -> list[RunningState]:
    """The state of the tiled algorithm after each block of one row, with values one number wide.

    Args:
        x: the scores of the row.
        v: one value for each key.
        blocks: how many blocks, or the length of each.

    Example:
        >>> [round(s.acc, 4) for s in running_states([1, 2, 3, 4], [1, 1, 1, 1], 2)]
        [1.3679, 1.553]
    """
    import torch

    from ..reference import online_softmax_states
    from ..tiled.state import SoftmaxState

    scores, values = (torch.tensor(row, dtype=torch.float64) for row in (x, v))
    state = SoftmaxState.empty([1], 1, dtype=torch.float64)
    states = []
    for block in online_softmax_states(x, blocks):
        part = slice(block.start, block.stop)
        state, factor, _ = state.fold(scores[None, part], values[part, None])
        states.append(RunningState(state.m.item(), factor.item(), state.l.item(), state.acc.item()))
    return states
