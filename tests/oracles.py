"""Float64 truth with what its budgets are made of, test inputs, and the peer. No attention of ours.

How far from the truth a result may be is settled in `budgets`.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from budgets import Truth
from budgets import assert_no_worse_than_peer as assert_no_worse_than_peer
from budgets import assert_within_budget as assert_within_budget
from budgets import budget as budget
from torch import Tensor

from fa_toolkit.problem import AttentionProblem

DTYPES = {name: getattr(torch, name) for name in ("float16", "bfloat16", "float32", "float64")}
LAYOUTS = ("contiguous", "bnhd", "gaps", "padded", "expanded", "mixed")

# lengths and widths one above, one below and far from any block size; B, Hq, Hkv, Nq, Nk, D, Dv
SHAPES_THAT_HURT: tuple[AttentionProblem, ...] = tuple(
    AttentionProblem(*sizes, dtype="float32", causal=causal)
    for sizes in (
        (1, 1, 1, 1, 1, 16, 16),
        (2, 3, 3, 100, 100, 24, 24),
        (1, 4, 2, 63, 130, 16, 16),
        (1, 2, 1, 130, 63, 64, 64),
        (2, 6, 2, 65, 65, 24, 16),
        (1, 1, 1, 1, 100, 16, 40),
    )
    for causal in (False, True)
)


def case_id(problem: AttentionProblem) -> str:
    """A readable name for a test case, such as `B2-H6:2-N63x130-D24:16-causal`."""
    p = problem
    heads = f"{p.heads_q}" if p.heads_q == p.heads_kv else f"{p.heads_q}:{p.heads_kv}"
    lengths = f"{p.len_q}" if p.len_q == p.len_k else f"{p.len_q}x{p.len_k}"
    width = f"{p.head_dim}" if p.head_dim == p.head_dim_v else f"{p.head_dim}:{p.head_dim_v}"
    mask = ("-causal" if p.causal else "") + (f"-w{p.window[0]},{p.window[1]}" if p.window else "")
    return f"B{p.batch}-H{heads}-N{lengths}-D{width}{mask}"


def lay_out(x: Tensor, layout: str) -> Tensor:
    """The same values under other strides; the memory between them is NaN."""
    b, h, n, d = x.shape
    if layout == "bnhd":
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    if layout == "gaps":  # every second element of the last axis, every second row
        view = x.new_full((b, h, 2 * n, 2 * d), float("nan"))[:, :, ::2, ::2]
    elif layout == "padded":  # rows longer than D, a storage offset
        view = x.new_full((b, h + 1, n + 2, d + 3), float("nan"))[:, 1:, 1 : n + 1, 2 : d + 2]
    elif layout in ("turned", "mixed"):  # widths apart, rows dense
        return x.mT.contiguous().mT
    elif layout == "expanded":  # stride 0 over the batch
        return x[:1].expand(b, h, n, d)
    else:
        return x.contiguous()
    view.copy_(x)
    return view


def make_qkv(
    problem: AttentionProblem,
    dtype: torch.dtype | None = None,
    *,
    layout: str = "contiguous",
    seed: int = 0,
    device: str = "cpu",
    spread: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v of `problem`, normal with deviation `spread`; `layout` is one of LAYOUTS."""
    p, kind = problem, dtype or DTYPES[problem.dtype]
    rng = torch.Generator().manual_seed(seed)

    def tensor(heads: int, length: int, width: int, layout: str) -> Tensor:
        x = torch.randn(p.batch, heads, length, width, generator=rng, dtype=torch.float64)
        return lay_out((spread * x).to(kind).to(device), layout)

    layouts = ("bnhd", "padded", "turned") if layout == "mixed" else (layout,) * 3
    return (
        tensor(p.heads_q, p.len_q, p.head_dim, layouts[0]),
        tensor(p.heads_kv, p.len_k, p.head_dim, layouts[1]),
        tensor(p.heads_kv, p.len_k, p.head_dim_v, layouts[2]),
    )


def make_grads(
    problem: AttentionProblem, dtype: torch.dtype | None = None, *, seed: int = 1
) -> tuple[Tensor, Tensor]:
    """dO and dlse for `problem`."""
    p, kind = problem, dtype or DTYPES[problem.dtype]
    rng = torch.Generator().manual_seed(seed)
    do = torch.randn(p.batch, p.heads_q, p.len_q, p.head_dim_v, generator=rng, dtype=torch.float64)
    dlse = torch.randn(p.batch, p.heads_q, p.len_q, generator=rng, dtype=torch.float64)
    return do.to(kind), dlse.to(torch.float64 if kind == torch.float64 else torch.float32)


def visibility(problem: AttentionProblem) -> Tensor:
    """[Nq, Nk] of bool. Masks know j - i only, so each such distance is asked about once."""
    nq, nk = problem.len_q, problem.len_k
    if not nq or not nk:
        return torch.zeros(nq, nk, dtype=torch.bool)
    seen = [problem.sees(max(0, -n), max(0, n)) for n in range(1 - nq, nk)]
    distance = torch.arange(nk)[None, :] - torch.arange(nq)[:, None]
    return torch.tensor(seen)[distance + nq - 1]


def _forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sink: Tensor | None,
    seen: Tensor,
    scale: float,
    cap: float,
    factor: Tensor,
) -> dict[str, Tensor]:
    raw = scale * q @ k.mT
    s = (cap * torch.tanh(raw / cap) if cap else raw).masked_fill(~seen, float("-inf"))
    extra = None if sink is None else sink[None, :, None, None].expand(*s.shape[:3], 1)
    logits = s if extra is None else torch.cat((s, extra), dim=-1)
    lse = s.new_full(s.shape[:3], float("-inf"))
    if logits.shape[-1]:
        alive = (logits > float("-inf")).any(-1)
        lse = torch.where(alive, torch.logsumexp(logits.masked_fill(~alive[..., None], 0), -1), lse)
    p = torch.exp(s - lse.masked_fill(lse == float("-inf"), 0)[..., None])
    return {"o": (factor * p) @ v, "lse": lse, "p": p, "raw": raw, "factor": factor}


def truth(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    keep: Tensor | None = None,
    dropout_p: float = 0.0,
    do: Tensor | None = None,
    dlse: Tensor | None = None,
    device: str = "cpu",
) -> Truth:
    """Attention of the very inputs in float64; gradients by autograd where `do` or `dlse` comes.

    Values: o, lse, and dq, dk, dv (dsink with a sink). `keep`: what dropout keeps, [B, Hq, Nq, Nk].
    `device` is where float64 is computed.
    """

    def wide64(x: Tensor) -> Tensor:
        return x.detach().to(device).double()

    (b, hq, nq, d), (hkv, nk, dv) = q.shape, v.shape[1:]
    dtype = q.dtype
    mask = AttentionProblem(b, hq, hkv, nq, nk, d, dv, "float32", causal, window)
    seen = visibility(mask).to(device)
    scale = 1 / math.sqrt(d) if scale is None else scale
    cap = softcap or 0.0
    group = hq // hkv if hkv else 1
    leaves = [wide64(t).requires_grad_() for t in (q, k, v)]
    leaf_sink = None if sink is None else wide64(sink).requires_grad_()
    wide = [leaves[0], *(t.repeat_interleave(group, 1) for t in leaves[1:])]
    factor = torch.ones((), dtype=torch.float64, device=device)
    if keep is not None:
        factor = wide64(keep) / (1 - dropout_p)
    f = _forward(*wide, leaf_sink, seen, scale, cap, factor)
    result = Truth({"o": f["o"].detach(), "lse": f["lse"].detach()}, {}, {}, {}, dtype)
    grads = do is not None or dlse is not None
    do64 = torch.zeros_like(f["o"]) if do is None else wide64(do)
    dlse64 = torch.zeros_like(f["lse"]) if dlse is None else wide64(dlse)
    if grads:
        dead = f["lse"] == float("-inf")
        loss = (f["o"] * do64).sum() + (f["lse"].masked_fill(dead, 0) * dlse64).sum()
        names = ["dq", "dk", "dv"] + ([] if sink is None else ["dsink"])
        inputs = leaves + ([] if leaf_sink is None else [leaf_sink])
        found = torch.autograd.grad(loss, inputs, allow_unused=True)
        for name, leaf, grad in zip(names, inputs, found, strict=True):
            result.values[name] = torch.zeros_like(leaf) if grad is None else grad
    with torch.no_grad():
        absolute = [t.abs() for t in wide]
        _bounds(result, f, absolute, seen, scale, cap, do64.abs(), dlse64.abs(), leaf_sink, grads)
    if grads:
        for table in (result.terms, result.through, result.small):
            for name in ("dk", "dv"):  # heads of a group add up
                width = d if name == "dk" else dv
                table[name] = table[name].reshape(b, hkv, group, nk, width).sum(2)
    return result


def _bounds(
    out: Truth,
    f: dict[str, Tensor],
    absolute: list[Tensor],
    seen: Tensor,
    scale: float,
    cap: float,
    do: Tensor,
    dlse: Tensor,
    sink: Tensor | None,
    grads: bool,
) -> None:
    """Fill in the sums of absolute terms. `a` bounds |ds| per unit of float32 rounding."""
    q, k, v = absolute
    factor, p, finite_lse = f["factor"], f["p"], f["lse"].masked_fill(f["lse"] == float("-inf"), 0)
    a = (abs(scale) * q @ k.mT + f["raw"].abs() + finite_lse.abs()[..., None] + 1) * seen
    mean_a = (p * a).sum(-1, keepdim=True) + (finite_lse.abs() * (sink is not None))[..., None]
    wobble = p * (a + mean_a)  # how far p moves when every score is rounded
    ones = seen.double().expand_as(p)
    o = (factor * p) @ v
    out.terms["o"], out.through["o"], out.small["o"] = o, (factor * wobble) @ v, ones @ v + 1
    out.through["lse"] = finite_lse.abs() + mean_a[..., 0]
    out.terms["lse"] = out.small["lse"] = torch.zeros_like(finite_lse)
    if not grads:
        return
    row = (do * o).sum(-1, keepdim=True)  # rowsum(|dO| P|V|)
    spread = factor * (do @ v.mT) + row + dlse[..., None]
    slope = 1 - torch.tanh(f["raw"] / cap) ** 2 if cap else torch.ones_like(p)
    g, dg = p * spread, wobble * spread + p * (out.through["o"] * do).sum(-1, keepdim=True)
    dg = dg + (g * (a + 1) if cap else 0)
    sides = (
        (out.terms, g * slope, factor * p),
        (out.through, dg, factor * wobble),
        (out.small, ones * (1 + spread), ones * (1 + factor)),  # one step of p, then what it meets
    )
    for table, left, mid in sides:
        table["dq"] = abs(scale) * left @ k + (table is out.small)
        table["dk"] = abs(scale) * left.mT @ q + (table is out.small)
        table["dv"] = mid.mT @ do + (table is out.small)
    if sink is not None:
        p_sink = torch.exp(sink[None, :, None] - finite_lse)
        both = row[..., 0] + dlse
        out.terms["dsink"] = (p_sink * both).sum((0, 2))
        out.through["dsink"] = (p_sink * both * (1 + out.through["lse"])).sum((0, 2))
        out.small["dsink"] = torch.zeros_like(out.terms["dsink"])


def plain_attention(q: Tensor, k: Tensor, v: Tensor, **keywords: Any) -> tuple[Tensor, Tensor]:
    """(o, lse) as plain torch computes it in the dtype of the inputs: the peer to compare with.

    Takes the keywords of `truth` that belong to the forward pass.
    """
    exact_mask = AttentionProblem(
        *(q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3]),
        causal=keywords.get("causal", False),
        window=keywords.get("window"),
    )
    group = exact_mask.group or 1
    k, v = (t.repeat_interleave(group, 1) for t in (k, v))
    scale, cap = keywords.get("scale"), keywords.get("softcap")
    s = (q @ k.mT) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    s = cap * torch.tanh(s / cap) if cap else s
    s = s.masked_fill(~visibility(exact_mask).to(s.device), float("-inf")).float()
    if (sink := keywords.get("sink")) is not None:
        s = torch.cat((s, sink.float()[None, :, None, None].expand(*s.shape[:3], 1)), -1)
    dead = (s == float("-inf")).all(-1, keepdim=True)
    p = torch.softmax(s, -1).masked_fill(dead, 0.0)[..., : k.shape[2]]
    if (keep := keywords.get("keep")) is not None:
        p = p * keep / (1 - keywords["dropout_p"])
    return p.to(v.dtype) @ v, torch.logsumexp(s, -1)
