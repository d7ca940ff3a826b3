"""One row of attention, block by block, as plain numbers: what a reader fills in by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from ..errors import ShapeError
from ..reference.softmax import split_blocks
from .state import SoftmaxState


class RowState(NamedTuple):
    """(m, l, acc) of one row after a block, and the factor the old l and acc were multiplied by."""

    alpha: float
    m: float
    l: float  # noqa: E741  (the letter of the formula)
    acc: float
    o: float


def row_states(s: Sequence[float], v: Sequence[float], blocks: int) -> list[RowState]:
    """The state after each block of a row with scores `s` and one-wide values `v`, in float64.

    `o` is acc / l, the output if the row ended here: a weighted average of the values so far.

    Args:
        blocks: how many blocks the row is cut into.

    Raises:
        ShapeError: if there are not as many values as scores.

    Example:
        >>> [round(state.acc, 3) for state in row_states([1, 2, 3, 4], [10, 20, 30, 40], 2)]
        [23.679, 54.241]
    """
    if len(s) != len(v):
        raise ShapeError("v", expected=f"[{len(s)}]", got=f"[{len(v)}]")
    scores = torch.tensor([list(s)], dtype=torch.float64)  # [1, N]
    values = torch.tensor(list(v), dtype=torch.float64)[:, None]  # [N, 1]
    state, states = SoftmaxState.empty([1], 1, dtype=torch.float64), []
    for start, stop in split_blocks(len(s), blocks):
        state, alpha, _ = state.fold(scores[:, start:stop], values[start:stop])
        o, _ = state.finish()
        numbers = (alpha, state.m, state.l, state.acc, o)
        states.append(RowState(*(x.item() for x in numbers)))
    return states
