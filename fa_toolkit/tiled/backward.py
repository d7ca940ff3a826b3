"""Flash Attention backward, tile by tile: three launches, P rebuilt from lse and never stored.

One launch owns tiles of keys (dK, dV), another tiles of queries (dQ), so no two programs add to
the same gradient and the result does not depend on their order.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import DtypeError, ShapeError
from ..problem import TileShape, column_tiles, key_tiles, query_tiles, row_tiles
from ..reference import Gradients
from .call import Call, Trace
from .forward import DEFAULT_TILE
from .program import Launch, Load, Place, Program, Span, Store, Work, run
from .trace import Step

MINUS_INF = float("-inf")


@torch.no_grad()
def flash_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    do: Tensor,
    dlse: Tensor | None = None,
    *,
    tile: TileShape = DEFAULT_TILE,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    dropout_p: float = 0.0,
    seed: int | Tensor | None = None,
    batch_start: int = 0,
) -> Gradients:
    """Gradients of attention in tiles: the fast, untraced way.

    Forward left o and one number a row, lse. From it every tile of P is rebuilt where it is
    needed, so backward computes more than it would with P at hand and moves far less.

        P  = e^(S - lse)            Delta = rowsum(dO * O) - dlse
        dV = P^T dO                 dS = P * (dO V^T - Delta)
        dQ = scale * dS K           dK = scale * dS^T Q

    Shapes:
        as in `flash_forward`; do as o, dlse as lse.

    Returns:
        (dq, dk, dv, dsink), each in the dtype of its tensor; dsink is None without a sink.

    Raises:
        ShapeError, DtypeError: if o, lse, do or dlse do not belong to q, k, v.
    """
    call = Call.of(
        q, k, v, tile, causal=causal, window=window, softcap=softcap, scale=scale, sink=sink,
        dropout_p=dropout_p, seed=seed, batch_start=batch_start,
    )  # fmt: skip
    _add_saved(call, o, lse, do, dlse)
    delta, grads = call.new("Delta", q, 0), _outputs(call, q, k, v)
    run(_launches(call), call.memory, tile)
    return Gradients(grads["dQ"], grads["dK"], grads["dV"], _grad_sink(sink, lse, delta))


@torch.no_grad()
def trace_flash_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    do: Tensor,
    dlse: Tensor | None = None,
    *,
    tile: TileShape = DEFAULT_TILE,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    dropout_p: float = 0.0,
    seed: int | Tensor | None = None,
    keep_values: bool = False,
) -> Trace:
    """The same programs as `flash_backward`, every load and store written down.

    Returns:
        a Trace with outputs "dQ", "dK", "dV", "Delta" (less dlse, if that was given), and
        "dsink" where there is a sink.
    """
    call = Call.of(
        q, k, v, tile, causal=causal, window=window, softcap=softcap, scale=scale, sink=sink,
        dropout_p=dropout_p, seed=seed,
    )  # fmt: skip
    _add_saved(call, o, lse, do, dlse)
    outputs = {"Delta": call.new("Delta", q, 0), **_outputs(call, q, k, v)}
    trace = call.trace("flash_backward", _launches(call), outputs, keep_values=keep_values)
    dsink = _grad_sink(sink, lse, outputs["Delta"])
    if dsink is not None:
        outputs["dsink"] = dsink
    return trace


def _add_saved(call: Call, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None) -> None:
    p = call.problem
    rows = (p.batch, p.heads_q, p.len_q)
    wanted = {"O": (o, "o"), "dO": (do, "do"), "lse": (lse, "lse"), "dlse": (dlse, "dlse")}
    for key, (x, name) in wanted.items():
        if x is None:
            continue
        shape = (*rows, p.head_dim_v) if key in ("O", "dO") else rows
        if x.shape != shape:
            raise ShapeError(name, expected=str(list(shape)), got=str(list(x.shape)))
        if key == "lse" and x.dtype != call.dtype:
            raise DtypeError(name, expected=str(call.dtype), got=str(x.dtype))
        call.memory.add(key, x.detach())


def _outputs(call: Call, q: Tensor, k: Tensor, v: Tensor) -> dict[str, Tensor]:
    return {name: call.new(name, x) for name, x in (("dQ", q), ("dK", k), ("dV", v))}


def _grad_sink(sink: Tensor | None, lse: Tensor, delta: Tensor) -> Tensor | None:
    """-sum over rows of e^(sink - lse) * Delta: the sink has no value, so only Delta is left."""
    if sink is None:
        return None
    p_sink = torch.exp(sink.to(lse)[:, None] - lse.masked_fill(lse == MINUS_INF, 0.0))
    return -(p_sink * delta).masked_fill(lse == MINUS_INF, 0.0).sum((0, 2)).to(sink.dtype)


def _launches(call: Call) -> list[Launch]:
    rows = tuple(row_tiles(call.problem, call.tile))
    cols = tuple(column_tiles(call.problem, call.tile))
    return [
        Launch("delta", rows, False, lambda span, place: _delta_program(call, span)),
        Launch("dkdv", cols, True, lambda span, place: _dkdv_program(call, span, place)),
        Launch("dq", rows, False, lambda span, place: _dq_program(call, span, place)),
    ]


def _delta_program(call: Call, rows: Span) -> Program:
    """Delta of one tile of queries."""
    o = yield Load(Step.LOAD_O, "O", rows)  # [..., M, Dv]
    do = yield Load(Step.LOAD_O, "dO", rows)  # [..., M, Dv]
    delta = (do * o).sum(-1)  # [..., M]
    if "dlse" in call.memory.tensors:
        delta = delta - (yield Load(Step.LOAD_O, "dlse", rows))
    yield Work(Step.DELTA, rows, (0, 0), {"delta": delta})
    yield Store(Step.STORE, "Delta", rows, delta)


def _dkdv_program(call: Call, cols: Span, place: Place) -> Program:
    """dK and dV of one tile of keys, from every query of every head that can see it."""
    k = yield Load(Step.LOAD_KV, "K", cols)  # [..., N, D]
    v = yield Load(Step.LOAD_KV, "V", cols)  # [..., N, Dv]
    dk, dv = torch.zeros_like(k), torch.zeros_like(v)
    for member in range(call.problem.group):
        for rows in query_tiles(call.problem, call.tile, *cols):
            q = yield Load(Step.LOAD_Q, "Q", rows, member=member)  # [..., M, D]
            do = yield Load(Step.LOAD_Q, "dO", rows, member=member)  # [..., M, Dv]
            lse = yield Load(Step.LOAD_Q, "lse", rows, member=member)  # [..., M]
            delta = yield Load(Step.LOAD_Q, "Delta", rows, member=member)  # [..., M]

            s, p = _rebuilt(call, q, k, lse)  # [..., M, N]
            yield Work(Step.RECOMPUTE, rows, cols, {"s": s, "p": p})
            hidden = call.hidden(rows, cols)
            if hidden is not None:
                p = p.masked_fill(hidden, 0.0)
                yield Work(Step.MASK, rows, cols, {"p": p})

            one = Place(place.batch, place.head, slice(member, member + 1))
            factor = call.dropout_factor(one, rows, cols)
            dv = dv + (factor * p).mT @ do
            yield Work(Step.GRAD_V, rows, cols, {"dv": dv})
            dp = factor * (do @ v.mT)  # [..., M, N]
            yield Work(Step.GRAD_P, rows, cols, {"dp": dp})
            ds = _grad_scores(call, s, p, dp, delta, hidden)  # [..., M, N]
            yield Work(Step.GRAD_S, rows, cols, {"ds": ds})
            dk = dk + call.scale * (ds.mT @ q)
            yield Work(Step.GRAD_K, rows, cols, {"dk": dk})
    yield Store(Step.STORE, "dK", cols, dk)
    yield Store(Step.STORE, "dV", cols, dv)


def _dq_program(call: Call, rows: Span, place: Place) -> Program:
    """dQ of one tile of queries, from every tile of keys it can see."""
    q = yield Load(Step.LOAD_Q, "Q", rows)  # [..., M, D]
    do = yield Load(Step.LOAD_Q, "dO", rows)  # [..., M, Dv]
    lse = yield Load(Step.LOAD_Q, "lse", rows)  # [..., M]
    delta = yield Load(Step.LOAD_Q, "Delta", rows)  # [..., M]
    dq = torch.zeros_like(q)
    for cols in key_tiles(call.problem, call.tile, *rows):
        k = yield Load(Step.LOAD_KV, "K", cols)  # [..., N, D]
        v = yield Load(Step.LOAD_KV, "V", cols)  # [..., N, Dv]

        s, p = _rebuilt(call, q, k, lse)  # [..., M, N]
        yield Work(Step.RECOMPUTE, rows, cols, {"s": s, "p": p})
        hidden = call.hidden(rows, cols)
        if hidden is not None:
            p = p.masked_fill(hidden, 0.0)
            yield Work(Step.MASK, rows, cols, {"p": p})

        dp = call.dropout_factor(place, rows, cols) * (do @ v.mT)  # [..., M, N]
        yield Work(Step.GRAD_P, rows, cols, {"dp": dp})
        ds = _grad_scores(call, s, p, dp, delta, hidden)  # [..., M, N]
        yield Work(Step.GRAD_S, rows, cols, {"ds": ds})
        dq = dq + call.scale * (ds @ k)
        yield Work(Step.GRAD_Q, rows, cols, {"dq": dq})
    yield Store(Step.STORE, "dQ", rows, dq)


def _rebuilt(call: Call, q: Tensor, k: Tensor, lse: Tensor) -> tuple[Tensor, Tensor]:
    """(s, p) of a tile, before the mask; a row without keys has no lse and comes out masked."""
    s = call.scores(q, k)
    return s, torch.exp(s - lse.masked_fill(lse == MINUS_INF, 0.0)[..., None])


def _grad_scores(
    call: Call, s: Tensor, p: Tensor, dp: Tensor, delta: Tensor, hidden: Tensor | None
) -> Tensor:
    ds = p * (dp - delta[..., None]) * call.slope(s)
    return ds if hidden is None else ds.masked_fill(hidden, 0.0)
