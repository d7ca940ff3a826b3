"""Truth of the backward exercises: attention and its gradients with whole tables, budgets, inputs."""

from __future__ import annotations

import math

import torch

from ..spec import randn, visible

Tensors = tuple[torch.Tensor, ...]


def seen_pairs(q: torch.Tensor, k: torch.Tensor, causal: bool) -> torch.Tensor:
    """Which key each query sees: bool [Nq, Nk]."""
    len_q, len_k = q.shape[-2], k.shape[-2]
    return visible(len_q, len_k) if causal else torch.ones(len_q, len_k, dtype=torch.bool)


def gradients(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, do: torch.Tensor, causal: bool = False
) -> Tensors:
    """The dull reference: (o, lse, dq, dk, dv) with whole tables; a test holds it to autograd."""
    scale = q.shape[-1] ** -0.5
    s = (scale * q @ k.mT).masked_fill(~seen_pairs(q, k, causal), -math.inf)  # [..., Nq, Nk]
    lse = torch.logsumexp(s, -1)  # [..., Nq]
    p = (s - lse.masked_fill(lse == -math.inf, 0.0)[..., None]).exp()  # rows without keys: 0
    o, dp = p @ v, do @ v.mT
    ds = p * (dp - (p * dp).sum(-1, keepdim=True))  # [..., Nq, Nk]
    return o, lse, scale * ds @ k, scale * ds.mT @ q, p.mT @ do


def gradient_budget(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, do: torch.Tensor, causal: bool = False
) -> list[torch.Tensor]:
    """Largest error of (o, lse, dq, dk, dv), elementwise: rounding times the absolute terms.

    A weight p errs by the rounding of its score; with G = P (|dO| |V|^T + rowsum(|dO| P|V|)) the
    absolute terms of dS, dq may err by that rounding times scale G |K|, dk by scale G^T |Q|.
    """
    eps, eps_s = torch.finfo(q.dtype).eps, torch.finfo(torch.float32).eps
    q, k, v, do = (x.double() for x in (q, k, v, do))
    scale = q.shape[-1] ** -0.5
    s, reach = scale * (q @ k.mT), scale * (q.abs() @ k.abs().mT)
    seen = seen_pairs(q, k, causal)
    p = torch.softmax(s.masked_fill(~seen, -math.inf), -1).nan_to_num(0.0)
    rounding = eps_s * (8 + reach.amax(-1, keepdim=True))  # [..., Nq, 1]
    share = 4 * (rounding + eps) * p
    g = do.abs() @ v.abs().mT + (do.abs() * (p @ v.abs())).sum(-1, keepdim=True)
    return [
        share @ v.abs() + eps_s,
        4 * rounding.squeeze(-1) + eps_s * k.shape[-2] / 16,  # one rounding of l a tile
        scale * (share * g) @ k.abs() + eps_s,
        scale * (share * g).mT @ q.abs() + eps_s,
        share.mT @ do.abs() + eps_s,
    ]


def inputs(
    len_q: int, len_k: int, *lead: int, d: int = 8, d_v: int = 8, size: float = 1.0,
    dtype: torch.dtype = torch.float32, rising: bool = False,
) -> Tensors:  # fmt: skip
    """(q, k, v, do) of normal numbers; `rising`: later keys have larger scores."""
    q, k = size * randn(*lead, len_q, d, seed=11), size * randn(*lead, len_k, d, seed=12)
    v, do = randn(*lead, len_k, d_v, seed=13), randn(*lead, len_q, d_v, seed=14)
    if rising:
        q, k = q.abs(), k.abs() * torch.linspace(-1, 1, len_k)[:, None]
    return tuple(x.to(dtype) for x in (q, k, v, do))


def strided(len_q: int, len_k: int, *, d: int = 8, d_v: int = 8) -> Tensors:
    """The same, none of them contiguous: heads and rows swapped, every second row, a transpose."""
    q, k, v, do = inputs(len_q, len_k, 2, d=d, d_v=d_v)
    q = q.transpose(0, 1).contiguous().transpose(0, 1)
    return q, k.repeat_interleave(2, 1)[:, ::2], v.mT.contiguous().mT, do.mT.contiguous().mT


def behind_rows(len_q: int, len_k: int, *lead: int, d: int = 8) -> Tensors:
    """The same, stored as [..., rows, heads, width] and seen as [..., heads, rows, width]."""
    return tuple(
        x.transpose(-2, -3).contiguous().transpose(-2, -3) for x in inputs(len_q, len_k, *lead, d=d)
    )


def far_below(len_q: int, len_k: int) -> Tensors:
    """Inputs all of whose scores are far below 0."""
    q, k, v, do = inputs(len_q, len_k)
    return q.abs() + 2, -6 * (k.abs() + 2), v, do


def repeated(len_q: int, len_k: int) -> Tensors:
    """Sixteen rows and keys over and over in float16: a sum in half precision drifts, as each tile
    adds the same, rounded the same way. The signs of v and k make all terms of a sum agree in sign."""
    q, k, v, do = (x.abs() + 0.3 for x in inputs(16, 16))
    sign = torch.ones(16, 1)
    sign[::2] = -1
    q, do = ((x * size).repeat(len_q // 16, 1) for x, size in ((q, 0.1), (do, 1.0)))
    k, v = ((x * sign).repeat(len_k // 16, 1) for x in (k, v))
    return tuple(x.half() for x in (q, k, v, do))
