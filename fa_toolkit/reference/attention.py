"""Attention, its log-sum-exp and its gradients, with every N x N matrix written out.

Slow and quadratic in memory on purpose: each line is one line of the formula. Half precision is
computed in float32 and rounded once, at the end; float64 stays float64.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..problem import AttentionProblem
from .dropout import check_dropout, kept
from .inputs import check_scalars, compute_dtype, problem_of, visible_pairs

MINUS_INF = float("-inf")


class Gradients(NamedTuple):
    """What backward returns; dsink is None where there was no sink."""

    dq: Tensor
    dk: Tensor
    dv: Tensor
    dsink: Tensor | None


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    dropout_p: float = 0.0,
    seed: int | Tensor | None = None,
    batch_start: int = 0,
) -> tuple[Tensor, Tensor]:
    """Exact attention and its log-sum-exp.

        s = scale * q k^T,  capped,  masked         lse = log(sum_j e^(s_ij) + e^sink)
        p = e^(s - lse)                             o   = p v

    Query i stands at key position i + Nk - Nq. A row that sees no key gives o = 0 and lse = -inf
    (or lse = sink). Differentiable by autograd.

    Shapes:
        q: [B, Hq, Nq, D]; k: [B, Hkv, Nk, D]; v: [B, Hkv, Nk, Dv]; sink: [Hq];
        o: [B, Hq, Nq, Dv]; lse: [B, Hq, Nq].

    Args:
        window: (left, right) keys around a query's own position, inclusive; -1 is unbounded.
        softcap: scores become cap * tanh(s / cap); None or 0 is off.
        scale: 1 / sqrt(D) if None.
        sink: one extra logit per query head, in the denominator only.
        dropout_p: share of the probabilities set to 0, the others divided by 1 - p; lse is not
            touched.
        seed: what is dropped is a function of it and of (b, h, i, j).
        batch_start: the b of the first item, where these are a part of a larger batch.

    Returns:
        o in the dtype of q; lse in natural units, float32 (float64 for float64 inputs).

    Raises:
        ShapeError, DtypeError, DeviceError, ArgumentError: naming the argument that does not fit.
    """
    problem = problem_of(q, k, v, causal=causal, window=window, sink=sink)
    scale, cap = check_scalars(problem, scale, softcap)
    wide_q, wide_k, wide_v = _wide(problem, q, k, v)
    s, _ = _scores(problem, wide_q, wide_k, scale, cap)  # [B, Hq, Nq, Nk]
    lse = torch.logsumexp(_with_sink(s, sink), dim=-1)  # [B, Hq, Nq]
    p = torch.exp(s - _pivot(lse)[..., None])  # [B, Hq, Nq, Nk]
    factor = _dropout_factor(problem, check_dropout(dropout_p, seed), seed, batch_start, p)
    return (factor * p @ wide_v).to(q.dtype), lse


def attention_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    do: Tensor,
    dlse: Tensor | None = None,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    dropout_p: float = 0.0,
    seed: int | Tensor | None = None,
    batch_start: int = 0,
) -> Gradients:
    """Gradients of attention from what forward leaves behind: o and lse, no N x N matrix.

    The row sum Delta stands in for the whole Jacobian of softmax, and a gradient of lse
    enters as a shift of it.

        p  = e^(s - lse)            Delta = rowsum(dO * O) - dlse
        dV = p^T dO                 dS = p * (dO V^T - Delta), times 1 - (s/cap)^2 under a cap
        dQ = scale * dS K           dK = scale * dS^T Q           dsink = -sum e^(sink - lse) Delta

    Shapes:
        as in `attention`; do as o, dlse as lse; each gradient as its tensor.

    Example:
        >>> q = k = v = torch.ones(1, 1, 2, 4)
        >>> o, lse = attention(q, k, v)
        >>> attention_backward(q, k, v, o, lse, torch.ones_like(o)).dv[0, 0, :, 0]
        tensor([1., 1.])
    """
    problem = problem_of(q, k, v, causal=causal, window=window, sink=sink)
    scale, cap = check_scalars(problem, scale, softcap)
    wide_q, wide_k, wide_v = _wide(problem, q, k, v)
    wide_do = do.to(wide_q.dtype)
    s, visible = _scores(problem, wide_q, wide_k, scale, cap)
    p = torch.exp(s - _pivot(lse)[..., None])  # [B, Hq, Nq, Nk]
    delta = (wide_do * o.to(wide_q.dtype)).sum(-1)  # [B, Hq, Nq]
    if dlse is not None:
        delta = delta - dlse
    factor = _dropout_factor(problem, check_dropout(dropout_p, seed), seed, batch_start, p)
    ds = p * (factor * (wide_do @ wide_v.mT) - delta[..., None])  # [B, Hq, Nq, Nk]
    if cap:
        ds = ds * (1 - (s / cap) ** 2)
    ds = ds.masked_fill(~visible, 0.0)
    dsink = None
    if sink is not None:
        dead = lse == MINUS_INF
        p_sink = torch.exp(sink.to(lse.dtype)[:, None] - _pivot(lse))
        dsink = -(p_sink * delta).masked_fill(dead, 0.0).sum((0, 2)).to(sink.dtype)
    return Gradients(
        (scale * ds @ wide_k).to(q.dtype),
        _sum_group(problem, scale * ds.mT @ wide_q).to(k.dtype),
        _sum_group(problem, (factor * p).mT @ wide_do).to(v.dtype),
        dsink,
    )


def _wide(
    problem: AttentionProblem, q: Tensor, k: Tensor, v: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v in the compute dtype, each key/value head repeated for its group."""
    kind = compute_dtype(q.dtype)
    wide_k, wide_v = (x.to(kind).repeat_interleave(problem.group, dim=1) for x in (k, v))
    return q.to(kind), wide_k, wide_v


def _sum_group(problem: AttentionProblem, grad: Tensor) -> Tensor:
    """Gradients of the query heads that share one key/value head, added up."""
    if problem.group == 0:  # no heads at all, or no query heads: nothing flows back
        return grad.new_zeros(problem.batch, problem.heads_kv, *grad.shape[2:])
    shape = (problem.batch, problem.heads_kv, problem.group, *grad.shape[2:])
    return grad.reshape(shape).sum(2)


def _scores(
    problem: AttentionProblem, q: Tensor, k: Tensor, scale: float, cap: float
) -> tuple[Tensor, Tensor]:
    """(s, visible): scaled, capped and masked scores, and the mask."""
    visible = visible_pairs(problem, (0, problem.len_q), (0, problem.len_k), q.device)
    s = scale * (q @ k.mT)  # [B, Hq, Nq, Nk]
    if cap:
        s = cap * torch.tanh(s / cap)
    return s.masked_fill(~visible, MINUS_INF), visible


def _dropout_factor(
    problem: AttentionProblem,
    dropout_p: float,
    seed: int | Tensor | None,
    batch_start: int,
    p: Tensor,
) -> Tensor | float:
    """1 / (1 - p) where dropout keeps an entry, 0 where not; 1 without dropout."""
    if not dropout_p or seed is None:
        return 1.0
    sizes = (problem.batch, problem.heads_q, problem.len_q, problem.len_k)
    b, *place = torch.meshgrid(*(torch.arange(n, device=p.device) for n in sizes), indexing="ij")
    return kept(seed, dropout_p, b + batch_start, *place).to(p.dtype) / (1 - dropout_p)


def _with_sink(s: Tensor, sink: Tensor | None) -> Tensor:
    if sink is None:
        return s
    column = sink.to(s.dtype)[None, :, None, None].expand(*s.shape[:-1], 1)
    return torch.cat((s, column), dim=-1)  # [B, Hq, Nq, Nk + 1]


def _pivot(lse: Tensor) -> Tensor:
    """lse, with 0 for a row that sees nothing: e^(-inf - 0) is 0, e^(-inf + inf) is not."""
    return lse.masked_fill(lse == MINUS_INF, 0.0)
