"""Inputs, and whether a provider's outputs are right: float32 for one head, before any timing.

The reference walks over blocks of rows, so that it also fits where N x N would not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from ..problem import AttentionProblem
from .failures import WrongOutput

_ROWS = 1024


class Inputs(NamedTuple):
    """q, k, v and the gradient of o, in one layout."""

    q: Tensor
    k: Tensor
    v: Tensor
    do: Tensor


def make_inputs(problem: AttentionProblem, device: str, seed: int) -> Inputs:
    """Fresh normal tensors [B, H, N, D]: never zeros, on which chips run faster."""
    p, generator = problem, torch.Generator(device).manual_seed(seed)

    def normal(heads: int, length: int, width: int) -> Tensor:
        shape, dtype = (p.batch, heads, length, width), getattr(torch, p.dtype)
        return torch.randn(shape, generator=generator, device=device, dtype=dtype)

    return Inputs(
        normal(p.heads_q, p.len_q, p.head_dim),
        normal(p.heads_kv, p.len_k, p.head_dim),
        normal(p.heads_kv, p.len_k, p.head_dim_v),
        normal(p.heads_q, p.len_q, p.head_dim_v),
    )


def in_layout(inputs: Inputs, layout: Literal["bhnd", "bnhd"]) -> Inputs:
    """The same values, contiguous as a provider wants them."""
    if layout == "bhnd":
        return inputs
    return Inputs(*(x.transpose(1, 2).contiguous() for x in inputs))


def reference(
    problem: AttentionProblem, inputs: Inputs, *, gradients: bool = True
) -> dict[str, Tensor]:
    """o, dq, dk, dv in float32, for the last key head of the last sequence and its query heads."""
    g, scale = problem.group, 1 / math.sqrt(problem.head_dim)
    q, do = (x[-1, -g:].float() for x in (inputs.q, inputs.do))  # [group, Nq, D]
    k, v = (x[-1, -1].float() for x in (inputs.k, inputs.v))  # [Nk, D]
    o, dq = torch.empty_like(do), torch.empty_like(q)
    dk, dv = torch.zeros_like(k), torch.zeros_like(v)
    cols = torch.arange(problem.len_k, device=q.device)
    for start in range(0, problem.len_q, _ROWS):
        rows = slice(start, min(start + _ROWS, problem.len_q))
        s = (q[:, rows] @ k.T) * scale
        if problem.causal:
            positions = torch.arange(rows.start, rows.stop, device=q.device) + problem.diagonal
            s = s.masked_fill(cols > positions[:, None], -math.inf)
        p = torch.softmax(s, -1)
        o[:, rows] = p @ v
        if not gradients:
            continue
        delta = (do[:, rows] * o[:, rows]).sum(-1, keepdim=True)
        ds = p * (do[:, rows] @ v.T - delta)
        dq[:, rows] = (ds @ k) * scale
        dk += torch.einsum("gmn,gmd->nd", ds, q[:, rows]) * scale
        dv += torch.einsum("gmn,gmd->nd", p, do[:, rows])
    return {"o": o, "dq": dq, "dk": dk, "dv": dv} if gradients else {"o": o}


def the_head(
    problem: AttentionProblem, x: Tensor, name: str, layout: Literal["bhnd", "bnhd"]
) -> Tensor:
    """The part of a provider's whole tensor that `reference` computed."""
    last = x[-1] if layout == "bhnd" else x[-1].transpose(0, 1)
    return last[-problem.group :] if name in ("o", "dq") else last[-1]


def errors(
    problem: AttentionProblem,
    got: Mapping[str, Tensor],
    exact: Mapping[str, Tensor],
    layout: Literal["bhnd", "bnhd"] = "bhnd",
) -> dict[str, float]:
    """|got - exact| / |exact| for each output, as norms over the head; NaN stays NaN."""
    found = {}
    for name, x in got.items():
        part = the_head(problem, x, name, layout).float()
        found[name] = float((part - exact[name]).norm() / exact[name].norm())
    return found


def allowed(dtype: str) -> float:
    """Largest relative error of a right answer: four roundings; float32 dots may run as TF32.

    Example:
        >>> allowed("bfloat16")
        0.03125
    """
    eps = 2.0**-10 if dtype == "float32" else torch.finfo(getattr(torch, dtype)).eps
    return 4 * float(eps)


def refuse_wrong(problem: AttentionProblem, found: Mapping[str, float]) -> None:
    """A wrong output, NaN included, is not timed.

    Raises:
        WrongOutput: naming each output that is off.
    """
    limit = allowed(problem.dtype)
    wrong = {name: error for name, error in found.items() if not error <= limit}
    if wrong:
        raise WrongOutput(", ".join(f"{name} {error:.1e}" for name, error in wrong.items()))


def poison(like: Tensor) -> None:
    """Leave NaN in the memory that the next outputs will be made from."""
    junk = [torch.full_like(like, math.nan) for _ in range(4)]
    del junk
