"""The loop that forward and decoding share: keys and values streamed past a tile of queries."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from torch import Tensor

from .call import Call
from .program import Load, Place, Request, Span, Work
from .state import SoftmaxState
from .trace import Step


def stream_keys(
    call: Call, place: Place, rows: Span, q: Tensor, state: SoftmaxState, tiles: Iterable[Span]
) -> Generator[Request, Tensor, SoftmaxState]:
    """Fold the keys of `tiles` into `state`, that of the queries `q`; the new state."""
    for cols in tiles:
        k = yield Load(Step.LOAD_KV, "K", cols)  # [..., N, D]
        v = yield Load(Step.LOAD_KV, "V", cols)  # [..., N, Dv]

        s = call.scores(q, k)  # [..., M, N]
        yield Work(Step.SCORES, rows, cols, {"s": s})

        hidden = call.hidden(rows, cols)
        if hidden is not None:
            s = s.masked_fill(hidden, float("-inf"))
            yield Work(Step.MASK, rows, cols, {"s": s})

        state, alpha, p = state.fold(s, v, call.dropout_factor(place, rows, cols))
        m, l, acc = state  # noqa: E741  (the letter of the formula)
        yield Work(Step.UPDATE, rows, cols, {"alpha": alpha, "p": p, "m": m, "l": l, "acc": acc})
    return state
