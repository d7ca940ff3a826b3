"""Standard attention as three launches that hand S and P to each other through HBM.

Blocked like everything on a GPU, and still quadratic in memory: it is not the blocks that save
memory but never writing S and P, which is what `forward` does.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..problem import TileShape, column_tiles, row_tiles
from .call import Call, Trace
from .forward import DEFAULT_TILE
from .program import Launch, Load, Place, Program, Span, Store, Work, run
from .trace import Step

MINUS_INF = float("-inf")


@torch.no_grad()
def standard_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    tile: TileShape = DEFAULT_TILE,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
) -> Tensor:
    """Attention the way eager code does it: S to HBM, softmax to HBM, product with V.

        S = mask(scale * Q K^T)        P = softmax(S)        O = P V

    S and P are rounded to the dtype of q on their way through HBM, as they are in eager code, so
    in half precision this is less exact than Flash Attention. There is no log-sum-exp: what
    backward keeps here is P.

    Shapes:
        as in `flash_forward`.
    """
    call = Call.of(
        q, k, v, tile, causal=causal, window=window, softcap=softcap, scale=scale, sink=sink
    )
    outputs = _outputs(call, q, v)
    run(_launches(call), call.memory, tile)
    return outputs["O"]


@torch.no_grad()
def trace_standard_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    tile: TileShape = DEFAULT_TILE,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    keep_values: bool = False,
) -> Trace:
    """The same programs as `standard_forward`, every load and store written down.

    Returns:
        a Trace with outputs "S", "P" and "O".
    """
    call = Call.of(
        q, k, v, tile, causal=causal, window=window, softcap=softcap, scale=scale, sink=sink
    )
    outputs = _outputs(call, q, v)
    return call.trace("standard", _launches(call), outputs, keep_values=keep_values)


def _outputs(call: Call, q: Tensor, v: Tensor) -> dict[str, Tensor]:
    widths = {"S": call.problem.len_k, "P": call.problem.len_k, "O": v.shape[-1]}
    return {
        name: call.memory.add(name, q.new_empty(*q.shape[:-1], width))
        for name, width in widths.items()
    }


def _launches(call: Call) -> list[Launch]:
    rows = tuple(row_tiles(call.problem, call.tile))
    return [
        Launch("scores", rows, False, lambda span, place: _scores_program(call, span)),
        Launch("softmax", rows, False, lambda span, place: _softmax_program(call, span, place)),
        Launch("output", rows, False, lambda span, place: _output_program(call, span)),
    ]


def _scores_program(call: Call, rows: Span) -> Program:
    """One strip of S, every tile of it: eager code computes what the mask then hides."""
    q = yield Load(Step.LOAD_Q, "Q", rows)  # [..., M, D]
    for cols in column_tiles(call.problem, call.tile):
        k = yield Load(Step.LOAD_KV, "K", cols)  # [..., N, D]
        s = call.scores(q, k)  # [..., M, N]
        yield Work(Step.SCORES, rows, cols, {"s": s})
        hidden = call.hidden(rows, cols)
        if hidden is not None:
            s = s.masked_fill(hidden, MINUS_INF)
            yield Work(Step.MASK, rows, cols, {"s": s})
        yield Store(Step.STORE, "S", rows, s, cols)


def _softmax_program(call: Call, rows: Span, place: Place) -> Program:
    """One strip of P from one strip of S."""
    s = yield Load(Step.LOAD_S, "S", rows)  # [..., M, Nk]
    m = s.amax(-1, keepdim=True) if s.shape[-1] else s.new_full((*s.shape[:-1], 1), MINUS_INF)
    sink = call.sink_at(place)
    if sink is not None:
        m = torch.maximum(m, sink[..., None])
    pivot = m.masked_fill(m == MINUS_INF, 0.0)
    p = torch.exp(s - pivot)  # [..., M, Nk]
    l = p.sum(-1, keepdim=True)  # noqa: E741  (the letter of the formula)
    if sink is not None:
        l = l + torch.exp(sink[..., None] - pivot)  # noqa: E741
    p = p / l.masked_fill(m == MINUS_INF, 1.0)
    cols = (0, call.problem.len_k)
    yield Work(Step.SOFTMAX, rows, cols, {"m": m[..., 0], "l": l[..., 0], "p": p})
    yield Store(Step.STORE, "P", rows, p)


def _output_program(call: Call, rows: Span) -> Program:
    """One tile of O from a strip of P and all of V."""
    acc: Tensor | None = None
    for cols in column_tiles(call.problem, call.tile):
        p = yield Load(Step.LOAD_P, "P", rows, cols)  # [..., M, N]
        v = yield Load(Step.LOAD_KV, "V", cols)  # [..., N, Dv]
        acc = p @ v if acc is None else acc + p @ v  # [..., M, Dv]
        yield Work(Step.UPDATE, rows, cols, {"acc": acc})
    yield Store(Step.STORE, "O", rows, torch.zeros(1, device=call.device) if acc is None else acc)
