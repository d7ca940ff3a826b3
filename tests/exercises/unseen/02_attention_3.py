"""02.attention, from its specification alone, in a third hand."""

# mypy: ignore-errors
import math

import torch

EXERCISE = "02.attention"

BUGS = {
    # The scale is 1/sqrt(Dv), taken from the width of v, instead of 1/sqrt(D) of q and k; right
    # only when D == Dv.
    "attention_cat": {"edit-size", "scale-of-v"},
}
RIGHT = ["attention_row_by_row"]


def attention_cat(q, k, v, causal):
    """Three lines and a mask, in float32 inside."""
    nq, nk = q.shape[-2], k.shape[-2]
    width = v.shape[-1]
    logits = torch.matmul(q.float(), k.float().transpose(-1, -2)) / math.sqrt(width)
    if causal:
        banned = torch.ones(nq, nk, dtype=torch.bool, device=q.device).triu(nk - nq + 1)
        logits = logits.masked_fill(banned, float("-inf"))
    probs = torch.softmax(logits, dim=-1)
    probs = torch.where(torch.isnan(probs), torch.zeros_like(probs), probs)
    return torch.matmul(probs, v.float()).to(q.dtype)


def attention_row_by_row(q, k, v, causal):
    """No mask at all: each query simply gets a shorter list of keys."""
    *lead, nq, d = q.shape
    nk, dv = v.shape[-2:]
    out = torch.zeros(*lead, nq, dv, dtype=torch.float32, device=q.device)
    for i in range(nq):
        n = max(0, i + nk - nq + 1) if causal else nk
        if n == 0:
            continue
        row = q[..., i, :].float().unsqueeze(-2)
        keys, vals = k[..., :n, :].float(), v[..., :n, :].float()
        w = ((row * keys).sum(-1) / d**0.5).softmax(-1)
        out[..., i, :] = (w.unsqueeze(-1) * vals).sum(-2)
    return out.to(q.dtype)
