"""09.split, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "09.split"

BUGS = {
    # The parts are merged with weights e^lse without subtracting the largest lse first: overflow
    # above 88 gives NaN and inf, underflow below -104 gives 0 and -inf.
    "split_carp": {"edit-missing", "no-maximum"},
}
RIGHT = ["split_running"]


def split_carp(q, k, v, splits):
    """Each part by itself, then weighted by e^lse."""
    width = -(-len(k) // splits)
    scale = q.shape[1] ** -0.5
    num = torch.zeros(len(q), v.shape[1])
    den = torch.zeros(len(q))
    for i in range(splits):
        keys = slice(i * width, min((i + 1) * width, len(k)))
        if keys.stop <= keys.start:
            continue
        s = q.float() @ k[keys].float().T * scale
        m = s.amax(1, keepdim=True)
        e = torch.exp(s - m)
        l = e.sum(1, keepdim=True)
        part, lse = e @ v[keys].float() / l, (m + l.log())[:, 0]
        w = torch.exp(lse)
        num += w[:, None] * part
        den += w
    lse = torch.log(den)
    o = torch.where(den[:, None] == 0, 0.0, num / den[:, None])
    return o.to(q.dtype), lse


def split_running(q, k, v, splits):
    """No list of parts: a finished (o, lse) that swallows one part after the other."""
    n, (g, d) = len(k), q.shape
    width = max(1, -(-n // splits))
    o, lse = torch.zeros(g, v.shape[1]), torch.full([g], -torch.inf)
    for a in range(0, n, width):
        kk, vv = k[a : a + width].float(), v[a : a + width].float()
        s = torch.einsum("gd,nd->gn", q.float(), kk).mul(d**-0.5)
        top = s.max(dim=1).values
        e = s.sub(top.unsqueeze(1)).exp()
        z = e.sum(1)
        o_part, lse_part = torch.einsum("gn,nd->gd", e, vv) / z.unsqueeze(1), top + z.log()
        # share of the new part is a logistic function of the difference of the two lse
        share = torch.sigmoid(lse_part - lse)
        o = torch.lerp(o, o_part, share.unsqueeze(1))
        hi, lo = torch.maximum(lse, lse_part), torch.minimum(lse, lse_part)
        lse = hi + torch.log1p((lo - hi).exp())
    return o.to(q.dtype), lse
