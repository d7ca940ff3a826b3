"""Truth of the backward exercises: attention with autograd in float64, budgets, inputs."""

from __future__ import annotations

import math
from typing import Any

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
    """The dull reference: (o, lse, dq, dk, dv), the gradients by autograd."""
    with torch.enable_grad():
        q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
        seen = seen_pairs(q, k, causal)
        s = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~seen, -math.inf)  # [..., Nq, Nk]
        dead = ~seen.any(-1, keepdim=True)  # rows without keys would be 0 / 0
        o = torch.softmax(s.masked_fill(dead, 0.0), -1).masked_fill(dead, 0.0) @ v
        dq, dk, dv = torch.autograd.grad(o, (q, k, v), do)
    return o.detach(), torch.logsumexp(s.detach(), -1), dq, dk, dv


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
        4 * rounding.squeeze(-1),
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


def saved(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, do: torch.Tensor) -> Any:
    """What forward leaves for backward, in float32: (lse, delta)."""
    o, lse, _, _, _ = gradients(*(x.double() for x in (q, k, v, do)))
    return lse.float(), (o * do.double()).sum(-1).float()
