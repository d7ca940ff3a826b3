"""Packed sequences: the same kernels as for a batch, told where each sequence begins and ends.

Launchers only. A program finds its sequence by itself, from the offsets on the device, so nothing
is read back and no longest length is asked for; see `tiles.sequence_at`.
"""

from __future__ import annotations

import torch

from ..problem import TileShape
from .call import Call
from .flash_backward import BackwardLaunch, Gradients
from .flash_forward import ForwardLaunch
from .launching import require_kernels


def flash_forward_varlen(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    seed: torch.Tensor | None = None,
    tile: TileShape | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention inside each packed sequence: one launch, whatever their number and lengths.

    Sequence b owns the tokens cu_seqlens[b] to cu_seqlens[b + 1] and masks are bottom-right within
    it. Tokens past the last offset form one more sequence that sees nothing: o = 0, lse = -inf.

    Shapes:
        q: [Tq, Hq, D]; k: [Tk, Hkv, D]; v: [Tk, Hkv, Dv]; any strides; cu_seqlens: [B + 1], int32;
        o: [Tq, Hq, Dv], laid out as q; lse: [Hq, Tq], float32, natural logarithm.

    Args:
        causal, window, softcap, scale, sink, dropout_p, seed, tile: as in `flash_forward`.

    Raises:
        BackendUnavailable, ShapeError, DtypeError, ArgumentError: as `flash_forward`.
    """
    require_kernels(q, k, v, cu_seqlens_q, cu_seqlens_k)
    q, k, v = (_one_batch(x) for x in (q, k, v))
    call = Call.of(
        q, k, v, causal=causal, window=window, softcap=softcap, scale=scale, sink=sink,
        dropout_p=dropout_p, seed=seed, cu_seqlens=(cu_seqlens_q, cu_seqlens_k),
    )  # fmt: skip
    o, lse = ForwardLaunch(call, q, k, v, tile)(q, k, v)
    return _packed(o), lse[0]


def flash_backward_varlen(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
    dlse: torch.Tensor | None,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    seed: torch.Tensor | None = None,
    tile: TileShape | None = None,
    needs_dq: bool = True,
    needs_dkdv: bool = True,
) -> Gradients:
    """Gradients of `flash_forward_varlen`; those of tokens that belong to nobody are 0.

    Shapes:
        as in `flash_forward_varlen`; do as o, dlse as lse, each gradient as its tensor.

    Raises:
        BackendUnavailable, ShapeError, DtypeError, ArgumentError: as `flash_backward`.
    """
    more = () if dlse is None else (dlse,)
    require_kernels(q, k, v, o, lse, do, cu_seqlens_q, cu_seqlens_k, *more)
    q, k, v, o, do = (_one_batch(x) for x in (q, k, v, o, do))
    call = Call.of(
        q, k, v, causal=causal, window=window, softcap=softcap, scale=scale, sink=sink,
        dropout_p=dropout_p, seed=seed, cu_seqlens=(cu_seqlens_q, cu_seqlens_k),
    )  # fmt: skip
    saved = (q, k, v, o, lse[None], do, None if dlse is None else dlse[None])
    launch = BackwardLaunch(call, *saved, sink, tile, needs_dq=needs_dq, needs_dkdv=needs_dkdv)
    dq, dk, dv, dsink = launch(*saved)
    dq, dk, dv = (x if x is None else _packed(x) for x in (dq, dk, dv))
    return Gradients(dq, dk, dv, dsink)


def _one_batch(x: torch.Tensor) -> torch.Tensor:
    """[T, H, D] as one batch that holds every sequence, [1, H, T, D]."""
    return x.transpose(0, 1)[None] if x.ndim == 3 else x


def _packed(x: torch.Tensor) -> torch.Tensor:
    return x[0].transpose(0, 1)
