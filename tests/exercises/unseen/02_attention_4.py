"""02.attention, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
import torch

EXERCISE = "02.attention"


def short_attention(q, k, v, causal):
    s = q.float() @ k.float().transpose(-2, -1) * q.shape[1] ** -0.5
    if causal:
        nq, nk = s.shape[-2:]
        s = s.masked_fill(~torch.ones(nq, nk, dtype=torch.bool).tril(nk - nq), float("-inf"))
    p = torch.softmax(s, dim=-1)
    p = torch.where(torch.isnan(p), torch.zeros_like(p), p)
    return (p @ v.float()).to(q.dtype)


def exclude_and_weigh(q, k, v, causal):
    """Unnormalised weights, one division after the product with v."""
    n_q, d = q.shape[-2:]
    n_k = k.shape[-2]
    s = torch.einsum("...id,...jd->...ij", q.float(), k.float()).div(d**0.5)
    if causal:
        lag = torch.arange(n_k) - torch.arange(n_q).unsqueeze(-1)
        s = s.where(lag <= n_k - n_q, float("-inf"))
    if n_k == 0:
        return torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    w = torch.exp(s - s.amax(-1, keepdim=True).clamp(min=-3e38))
    out = torch.einsum("...ij,...jd->...id", w, v.float())
    total = w.sum(-1, keepdim=True)
    return (out / total.where(total > 0, 1.0)).to(q.dtype)


BUGS = {
    # The scale is q.shape[1] ** -0.5: with leading dimensions that is not the width D (should be
    # q.shape[-1]).
    "short_attention": {"scale-of-length"},
}
RIGHT = ("exclude_and_weigh",)
