"""09.split, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "09.split"


def split_decode_plainexp(q, k, v, splits):
    """q [G, D] against a cache k [Nk, D], v [Nk, Dv], cut into parts: o [G, Dv], lse [G]."""
    width = -(-len(k) // splits)
    scale = q.shape[-1] ** -0.5
    outs, lses = [], []
    for i in range(splits):
        keys = slice(i * width, min((i + 1) * width, len(k)))  # may be empty
        kk, vv = k[keys], v[keys]
        if len(kk) == 0:
            continue
        s = q.float() @ kk.float().T * scale
        m = s.max(dim=1, keepdim=True).values
        p = torch.exp(s - m)
        l = p.sum(dim=1, keepdim=True)
        outs.append(p @ vv.float() / l)
        lses.append((m + torch.log(l)).squeeze(1))
    if not outs:
        o = torch.zeros(len(q), v.shape[1], dtype=q.dtype, device=q.device)
        return o, torch.full((len(q),), -float("inf"), device=q.device)
    lses = torch.stack(lses)  # [parts, G]
    lse = torch.log(torch.exp(lses).sum(dim=0))
    weights = torch.exp(lses - lse)
    o = (weights[:, :, None] * torch.stack(outs)).sum(dim=0)
    return o.to(q.dtype), lse


def split_decode_pairwise(q, k, v, splits):
    """q [G, D] against a cache k [Nk, D], v [Nk, Dv], cut into parts: o [G, Dv], lse [G]."""
    qs = q.float() / q.shape[1] ** 0.5
    n, g = k.shape[0], q.shape[0]
    width = (n + splits - 1) // splits
    o, lse = qs.new_zeros(g, v.shape[1]), qs.new_full((g,), float("-inf"))
    begin = 0
    while begin < n:
        size = min(width, n - begin)
        part_k, part_v = k.narrow(0, begin, size).float(), v.narrow(0, begin, size).float()
        s = torch.einsum("gd,nd->gn", qs, part_k)
        part_lse = torch.logsumexp(s, dim=-1)
        part_o = torch.einsum("gn,nd->gd", torch.exp(s - part_lse[:, None]), part_v)
        # merge two finished parts: the share of the new one is a sigmoid of the difference
        share = torch.sigmoid(part_lse - lse)[:, None]
        o = torch.lerp(o, part_o, share)
        lse = torch.logaddexp(lse, part_lse)
        begin += size
    return o.to(q.dtype), lse


BUGS = {
    # the parts' lse are merged as log(sum(exp(lse))) without taking the maximum out, so large
    # scores overflow to inf (and very negative ones give log 0).
    "split_decode_plainexp": {"no-maximum"},
}
RIGHT = ("split_decode_pairwise",)
