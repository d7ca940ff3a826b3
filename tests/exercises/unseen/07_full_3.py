"""07.full, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: E741, N803, N806
import torch

EXERCISE = "07.full"

BUGS = {
    # The causal backward starts the queries of a key tile at row j instead of max(0, j - (Nk -
    # Nq)), so with Nk > Nq the early queries that do see the tile send no gradient; o and lse are
    # right.
    "tiles_lynx": {"backward.bound-without-offset"},
}
RIGHT = []


def _forward_one(q, k, v, causal, scale, T):
    nq, nk = len(q), len(k)
    shift = nk - nq
    o = torch.zeros(nq, v.shape[1])
    lse = torch.full((nq,), -torch.inf)
    for i in range(0, nq, T):
        qi = q[i : i + T]
        pos = torch.arange(i, i + len(qi)) + shift
        m = torch.full((len(qi),), -torch.inf)
        l = torch.zeros(len(qi))
        acc = torch.zeros(len(qi), v.shape[1])
        for j in range(0, nk, T):
            kj, vj = k[j : j + T], v[j : j + T]
            s = (qi @ kj.T) * scale
            if causal:
                s[torch.arange(j, j + len(kj))[None] > pos[:, None]] = -torch.inf
            top = torch.maximum(m, s.amax(1))
            ref = top.masked_fill(top == -torch.inf, 0.0)
            w, a = (s - ref[:, None]).exp(), (m - ref).exp()
            l, acc, m = l * a + w.sum(1), acc * a[:, None] + w @ vj, top
        live = l > 0
        o[i : i + T][live] = acc[live] / l[live][:, None]
        lse[i : i + T][live] = m[live] + l[live].log()
    return o, lse


def _backward_one(q, k, v, do, o, lse, causal, scale, T):
    nq, nk = len(q), len(k)
    shift = nk - nq
    delta = (o * do).sum(1)
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for j in range(0, nk, T):
        kj, vj = k[j : j + T], v[j : j + T]
        first = j if causal else 0  # no query before this one sees the tile of keys
        for i in range(first, nq, T):
            sl = slice(i, i + T)
            qi, di = q[sl], do[sl]
            s = (qi @ kj.T) * scale
            seen = (lse[sl] > -torch.inf)[:, None].expand_as(s).clone()
            if causal:
                pos = torch.arange(i, i + len(qi)) + shift
                seen &= torch.arange(j, j + len(kj))[None] <= pos[:, None]
            p = torch.where(seen, (s - lse[sl][:, None]).masked_fill(~seen, 0.0).exp(), 0.0)
            ds = p * (di @ vj.T - delta[sl][:, None])
            dv[j : j + T] += p.T @ di
            dk[j : j + T] += scale * (ds.T @ qi)
            dq[sl] += scale * (ds @ kj)
    return dq, dk, dv


def tiles_lynx(q, k, v, do, causal):
    """Forward, then one backward sweep: keys outside, queries inside, blocks that see nothing skipped."""
    T, scale, lead = 16, q.shape[-1] ** -0.5, q.shape[:-2]
    heads = [t.float().reshape(-1, *t.shape[-2:]) for t in (q, k, v, do)]
    rows = []
    for qh, kh, vh, dh in zip(*heads, strict=True):
        o, lse = _forward_one(qh, kh, vh, causal, scale, T)
        rows.append((o, lse, *_backward_one(qh, kh, vh, dh, o, lse, causal, scale, T)))
    o, lse, dq, dk, dv = (torch.stack(col) for col in zip(*rows, strict=True))

    def back(t):
        return t.reshape(*lead, *t.shape[1:])

    return (
        back(o).to(q.dtype),
        back(lse),
        back(dq).to(q.dtype),
        back(dk).to(q.dtype),
        back(dv).to(q.dtype),
    )
