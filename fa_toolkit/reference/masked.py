"""Attention under any mask, every score written out: what no tiled kernel here takes.

Gradients are autograd's, those of an additive mask included. Chooses and checks nothing.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .inputs import compute_dtype


def masked_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor,
    *,
    scale: float | None = None,
    dropout_p: float = 0.0,
) -> Tensor:
    """Exact attention whose mask is a tensor, as slow and as large as its formula.

        s = scale * q k^T + mask            p = e^(s - lse), dropped            o = p v

    A row whose keys are all hidden gives o = 0 and zero gradients. Half precision is computed in
    float32 and rounded once.

    Shapes:
        q: [B, Hq, Nq, D]; k: [B, Hkv, Nk, D]; v: [B, Hkv, Nk, Dv];
        mask: broadcasts to [B, Hq, Nq, Nk]; o: [B, Hq, Nq, Dv].

    Args:
        mask: of bool, True where a query may look; otherwise added to the scaled scores.
        scale: 1 / sqrt(D) if None.
        dropout_p: share of the probabilities set to 0, drawn from torch's generator.

    Example:
        >>> q = k = v = torch.eye(2)[None, None]
        >>> masked_attention(q, k, v, torch.tensor([[True, False], [False, False]]))[0, 0]
        tensor([[1., 0.],
                [0., 0.]])
    """
    kind = compute_dtype(q.dtype)
    group = q.shape[1] // max(1, k.shape[1])
    wide_k, wide_v = (x.to(kind).repeat_interleave(group, dim=1) for x in (k, v))
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    s = scale * (q.to(kind) @ wide_k.mT)  # [B, Hq, Nq, Nk]
    s = s.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else s + mask.to(kind)
    dead = (s == -math.inf).all(-1, keepdim=True)  # [B, Hq, Nq, 1]
    # softmax of nothing but -inf is NaN, and so is its gradient: such rows never reach it
    p = torch.softmax(s.masked_fill(dead, 0.0), dim=-1).masked_fill(dead, 0.0)
    return (torch.dropout(p, dropout_p, True) @ wide_v).to(q.dtype)
