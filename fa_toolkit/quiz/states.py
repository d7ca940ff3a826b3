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


class KeyGradient(NamedTuple):
    """What the backward pass of one row has for one key: p, dp, Delta of the row, ds, dv."""

    p: float
    dp: float
    delta: float
    ds: float
    dv: float


def row_gradients(s: Sequence[float], v: Sequence[float], do: float) -> list[KeyGradient]:
    """The backward pass of one row with values one number wide, key by key.

    The row is attention itself: a query of 1, keys of one number (the scores) and scale 1, so that
    dK is dS.

    Args:
        s: the scores of the row.
        v: one value for each key.
        do: the gradient of the row's output.

    Example:
        >>> [round(g.ds, 4) for g in row_gradients([0, 0], [1, 3], 2)]
        [-1.0, 1.0]
    """
    import torch

    from ..reference import attention, attention_backward

    def wide(numbers: Sequence[float]) -> torch.Tensor:
        return torch.tensor(numbers, dtype=torch.float64)[None, None, :, None]

    q, k, values, grad = wide([1.0]), wide(s), wide(v), wide([do])
    o, lse = attention(q, k, values, scale=1.0)
    found = attention_backward(q, k, values, o, lse, grad, scale=1.0)
    p = torch.exp(k.flatten() - lse.flatten())
    delta = (grad * o).sum().item()
    columns = (p, do * values.flatten(), found.dk.flatten(), found.dv.flatten())
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [KeyGradient(p, dp, delta, ds, dv) for p, dp, ds, dv in rows]


class Merged(NamedTuple):
    """Attention over all keys, from parts: the output and its log-sum-exp."""

    o: float
    lse: float


def merged_parts(outs: Sequence[float], lses: Sequence[float]) -> Merged:
    """Parts of one row, each with its output (one number) and log-sum-exp, merged.

    Example:
        >>> merged_parts([1.0, 0.0], [0.0, 0.0]).o
        0.5
    """
    import torch

    from ..tiled.state import merge_partials

    parts = [torch.tensor([[o]], dtype=torch.float64) for o in outs]
    o, lse = merge_partials(parts, [torch.tensor([x], dtype=torch.float64) for x in lses])
    return Merged(o.item(), lse.item())
