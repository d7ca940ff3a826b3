"""Flash Attention forward, tile by tile: one launch, no N x N matrix. Gradients are `backward`'s.

Loop order of FlashAttention-2: a program owns a tile of queries and streams keys and values past.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..problem import TileShape, key_tiles, row_tiles
from .call import Call, Trace
from .program import Launch, Load, Place, Program, Span, Store, run
from .state import SoftmaxState
from .streaming import stream_keys
from .trace import Step

DEFAULT_TILE = TileShape()


@torch.no_grad()
def flash_forward(
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
    dropout_p: float = 0.0,
    seed: int | Tensor | None = None,
    batch_start: int = 0,
) -> tuple[Tensor, Tensor]:
    """Exact attention in tiles: the fast, untraced way, many heads at a time.

    Memory beyond the outputs is a few tiles, whatever Nq and Nk are. Results carry no autograd
    graph; `flash_backward` has the gradients.

    Shapes:
        q: [B, Hq, Nq, D]; k: [B, Hkv, Nk, D]; v: [B, Hkv, Nk, Dv]; sink: [Hq];
        o: [B, Hq, Nq, Dv]; lse: [B, Hq, Nq].

    Args:
        tile: BLOCK_M by BLOCK_N.
        causal, window, softcap, scale, sink, dropout_p, seed, batch_start: as in
            `reference.attention`.

    Returns:
        o in the dtype of q; lse in natural units, float32 (float64 for float64 inputs).

    Example:
        >>> q = k = v = torch.ones(1, 2, 100, 16)
        >>> o, lse = flash_forward(q, k, v, tile=TileShape(32, 64), causal=True)
        >>> bool((o == 1).all()), round(lse[0, 0, 0].item(), 4)
        (True, 4.0)
    """
    call = Call.of(
        q, k, v, tile, causal=causal, window=window, softcap=softcap, scale=scale, sink=sink,
        dropout_p=dropout_p, seed=seed, batch_start=batch_start,
    )  # fmt: skip
    o, lse = call.new("O", q, v.shape[-1]), call.new("lse", q, 0)
    run(_launches(call), call.memory, tile)
    return o, lse


@torch.no_grad()
def trace_flash_forward(
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
    dropout_p: float = 0.0,
    seed: int | Tensor | None = None,
    keep_values: bool = False,
) -> Trace:
    """The same programs as `flash_forward`, one head at a time, every load and store written down.

    Args:
        keep_values: keep copies of the tiles on chip in the events: q, k, v as loaded, s, p, m,
            l, acc and alpha.

    Returns:
        a Trace with outputs "O" and "lse".
    """
    call = Call.of(
        q, k, v, tile, causal=causal, window=window, softcap=softcap, scale=scale, sink=sink,
        dropout_p=dropout_p, seed=seed,
    )  # fmt: skip
    outputs = {"O": call.new("O", q, v.shape[-1]), "lse": call.new("lse", q, 0)}
    return call.trace("flash_forward", _launches(call), outputs, keep_values=keep_values)


def _launches(call: Call) -> list[Launch]:
    def body(rows: Span, place: Place) -> Program:
        return flash_forward_program(call, rows, place)

    return [Launch("forward", tuple(row_tiles(call.problem, call.tile)), False, body)]


def flash_forward_program(call: Call, rows: Span, place: Place) -> Program:
    """One tile of queries against every tile of keys it can see; `row_tiles` starts one for each."""
    q = yield Load(Step.LOAD_Q, "Q", rows)  # [..., M, D]
    state = SoftmaxState.empty(
        q.shape[:-1],
        call.problem.head_dim_v,
        sink=call.sink_at(place),
        dtype=call.dtype,
        device=call.device,
    )
    tiles = key_tiles(call.problem, call.tile, *rows)
    state = yield from stream_keys(call, place, rows, q, state, tiles)
    o, lse = state.finish()
    yield Store(Step.STORE, "O", rows, o)
    yield Store(Step.STORE, "lse", rows, lse)
