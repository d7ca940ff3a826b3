"""07.full, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E741, N806
import math

import torch

EXERCISE = "07.full"

BUGS = {}
RIGHT = ["running_lse", "augmented", "generator_of_tiles"]


def running_lse(q, k, v, do, causal):
    """State is (o, lse), o always normalised; each tile is blended in by e^(lse_old - lse_new)."""
    nq, nk = q.shape[-2:][0], k.shape[-2:][0]
    head_shape, a = q.shape[:-2], q.shape[-1] ** -0.25  # the scale is shared by both factors
    big = 1e30  # stands for "minus nothing": e^(s - big) = 0
    o, lse = torch.zeros(*q.shape[:-1], v.shape[-1]), torch.full(q.shape[:-1], -torch.inf)

    def rectangle():
        for j in reversed(range(0, nk, 28)):
            for i in reversed(range(0, nq, 12)):
                if not causal or j <= min(i + 12, nq) - 1 + nk - nq:
                    yield slice(i, min(i + 12, nq)), slice(j, min(j + 28, nk))

    def scores(r, c):
        s = (q[..., r, :].float() * a).matmul((k[..., c, :].float() * a).transpose(-2, -1))
        if causal and c.stop - 1 > r.start + nk - nq:
            gap = torch.arange(c.start, c.stop).view(1, -1) - torch.arange(r.start, r.stop).view(
                -1, 1
            )
            s = s.masked_fill(gap > nk - nq, -torch.inf)
        return s

    for r, c in rectangle():
        s = scores(r, c)
        top = s.amax(-1).clamp(min=-big)
        here = top + (s - top[..., None]).exp().sum(-1).log()
        total = torch.logaddexp(lse[..., r], here)
        anchor = torch.where(total.isneginf(), big, total)[..., None]
        o[..., r, :] = (
            o[..., r, :] * (lse[..., r, None] - anchor).exp()
            + (s - anchor).exp() @ v[..., c, :].float()
        )
        lse[..., r] = total
    anchor = torch.where(lse.isneginf(), big, lse)[..., None]
    minus_delta = -(o.mul(do)).sum(-1, keepdim=True)
    dq, dk, dv = (torch.zeros(*head_shape, *x.shape[-2:]) for x in (q, k, v))
    for r, c in rectangle():
        p = (scores(r, c) - anchor[..., r, :]).exp()
        g = do[..., r, :].float()
        dv[..., c, :] += p.transpose(-2, -1) @ g
        ds = (
            (g @ v[..., c, :].float().transpose(-2, -1))
            .add_(minus_delta[..., r, :])
            .mul_(p)
            .mul_(a * a)
        )
        dk[..., c, :] += ds.transpose(-2, -1) @ q[..., r, :].float()
        dq[..., r, :] += ds @ k[..., c, :].float()
    return o.to(q.dtype), lse, dq.to(q.dtype), dk.to(q.dtype), dv.to(q.dtype)


def augmented(q, k, v, do, causal):
    """[dO, -Delta] [V, 1]^T gives dP - Delta in one product, [Q, lse] [K, -1]^T gives s - lse."""
    nq, nk, dt = q.shape[-2], k.shape[-2], q.dtype
    B = math.prod(q.shape[:-2])
    Q, K = q.reshape(B, nq, -1).float() * q.shape[-1] ** -0.5, k.reshape(B, nk, q.shape[-1]).float()
    V, G = v.reshape(B, nk, v.shape[-1]).float(), do.reshape(B, nq, v.shape[-1]).float()
    V1 = torch.nn.functional.pad(V, (0, 1), value=1.0)
    K1 = torch.nn.functional.pad(K, (0, 1), value=-1.0)
    rows_all, cols_all = torch.arange(nq) + (nk - nq if causal else nk), torch.arange(nk)
    acc = torch.zeros(B, nq, V1.shape[2])
    m = torch.full((B, nq, 1), -3.0e38)  # finite: no guard needed, masks multiply
    spans_m = [slice(i, min(i + 17, nq)) for i in range(0, nq, 17)]
    spans_n = [slice(j, min(j + 13, nk)) for j in range(0, nk, 13)]
    for c in spans_n:
        for r in spans_m:
            see = cols_all[c] <= rows_all[r, None]
            if not see.any():
                continue
            s = torch.baddbmm(torch.zeros(1, 1, 1), Q[:, r], K[:, c].mT, beta=0)
            new = torch.maximum(m[:, r], s.masked_fill(~see, -3.0e38).amax(2, keepdim=True))
            p = torch.exp((s - new).clamp(max=0.0)) * see
            acc[:, r] = torch.baddbmm(acc[:, r] * torch.exp(m[:, r] - new), p, V1[:, c])
            m[:, r] = new
    l = acc[:, :, -1:]
    o = acc[:, :, :-1] / (l + (l == 0))
    lse = torch.where(l == 0, -torch.inf, m + torch.log(l + (l == 0)))
    Q1 = torch.cat([Q, torch.where(l == 0, 0.0, lse)], 2)
    G1 = torch.cat([G, -(G * o).sum(2, keepdim=True)], 2)
    dq, dk, dv = torch.zeros_like(Q), torch.zeros_like(K), torch.zeros_like(V)
    for r in spans_m:
        for c in spans_n:
            see = cols_all[c] <= rows_all[r, None]
            p = torch.exp((Q1[:, r] @ K1[:, c].mT).masked_fill(~see, -torch.inf))
            ds = (G1[:, r] @ V1[:, c].mT) * p
            dv[:, c] += p.mT @ G[:, r]
            dk[:, c] += ds.mT @ Q[:, r]
            dq[:, r] += ds @ K[:, c]
    dq *= q.shape[-1] ** -0.5
    return (o.reshape(do.shape).to(dt), lse.reshape(q.shape[:-1]), dq.reshape(q.shape).to(dt),
            dk.reshape(k.shape).to(dt), dv.reshape(v.shape).to(dt))  # fmt: skip


def generator_of_tiles(q, k, v, do, causal):
    """One generator yields tiles; Delta comes from sum p dp in a sweep of its own, not from o."""
    M, N = q.shape[-2], k.shape[-2]
    scale = q.shape[-1] ** -0.5

    def tiles(r):
        lo, hi = r
        for a in range(0, N, 19):
            b = min(a + 19, N)
            if causal:
                b = min(b, hi + N - M)  # keys no row of this strip sees are never loaded
            if b <= a:
                return
            x = torch.matmul(q[..., lo:hi, :].float(), k[..., a:b, :].float().movedim(-1, -2))
            x *= scale
            if causal:
                for n, row in enumerate(range(lo, hi)):
                    x[..., n, max(0, row + N - M + 1 - a) :] = -torch.inf
            yield a, b, x

    o = torch.zeros(do.shape, dtype=q.dtype)
    lse = torch.empty(q.shape[:-1])
    dq = torch.zeros(q.shape, dtype=q.dtype)
    dk, dv = torch.zeros(k.shape), torch.zeros(v.shape)
    for lo in range(0, M, 11):
        hi = min(M, lo + 11)
        g = do[..., lo:hi, :].float()
        m = torch.full((*q.shape[:-2], hi - lo, 1), -torch.inf)
        l = torch.zeros_like(m)
        acc = torch.zeros(*q.shape[:-2], hi - lo, v.shape[-1])
        for a, b, x in tiles((lo, hi)):
            bigger = torch.maximum(m, x.max(-1, keepdim=True)[0])
            shrink = torch.where(bigger > m, torch.exp(m - bigger), 1.0)
            e = torch.where(x > -torch.inf, torch.exp(x - bigger), 0.0)
            l = shrink * l + e.sum(-1, keepdim=True)
            acc = shrink * acc + e @ v[..., a:b, :].float()
            m = bigger
        o[..., lo:hi, :] = (acc * torch.where(l > 0, l.reciprocal(), 0.0)).to(q.dtype)
        L = m + torch.log(l)
        lse[..., lo:hi] = L[..., 0]
        delta = torch.zeros_like(l)
        for a, b, x in tiles((lo, hi)):
            p = torch.where(x > -torch.inf, torch.exp(x - L), 0.0)
            delta += (p * (g @ v[..., a:b, :].float().mT)).sum(-1, keepdim=True)
        dq_strip = torch.zeros(*q.shape[:-2], hi - lo, q.shape[-1])
        for a, b, x in tiles((lo, hi)):
            p = torch.where(x > -torch.inf, torch.exp(x - L), 0.0)
            ds = p * (g @ v[..., a:b, :].float().mT) - p * delta
            dq_strip += ds @ k[..., a:b, :].float()
            dk[..., a:b, :] += ds.mT @ (scale * q[..., lo:hi, :].float())
            dv[..., a:b, :] += p.mT @ g
        dq[..., lo:hi, :] = (dq_strip * scale).to(q.dtype)
    return o, lse, dq, dk.to(q.dtype), dv.to(q.dtype)
