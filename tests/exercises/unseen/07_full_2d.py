"""07.full, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E741, N806, RUF005
import math

import torch

EXERCISE = "07.full"

BUGS = {
    # the running maximum is taken before the mask, over hidden keys too: when a hidden score is
    # about 100 above all visible ones l underflows to 0 and the row comes out as if it had no
    # keys
    "zero_the_hidden": {"maximum-of-hidden"},
}
RIGHT = ["by_halves", "keys_outside", "three_sweeps_double"]


def zero_the_hidden(q, k, v, do, causal):
    """Hidden entries are zeroed in p, so no -inf - (-inf) can arise in a tile."""
    nq, nk, scale = q.shape[-2], k.shape[-2], q.shape[-1] ** -0.5
    block = 16
    o = torch.zeros(*q.shape[:-1], v.shape[-1])
    lse = torch.full(q.shape[:-1], -torch.inf)
    dq, dk, dv = torch.zeros(q.shape), torch.zeros(k.shape), torch.zeros(v.shape)

    def look(i, j):
        s = q[..., i : i + block, :].float() @ k[..., j : j + block, :].float().mT * scale
        seen = torch.ones(s.shape[-2:], dtype=torch.bool)
        if causal:
            seen = torch.tril(seen, diagonal=i - j + nk - nq)
        return s, seen

    for i in range(0, nq, block):
        n = min(block, nq - i)
        m = torch.full((*q.shape[:-2], n), -torch.inf)
        l, acc = torch.zeros(m.shape), torch.zeros(*m.shape, v.shape[-1])
        for j in range(0, nk, block):
            if causal and j > i + n - 1 + nk - nq:
                break
            s, seen = look(i, j)
            new = torch.maximum(m, s.amax(-1))
            zero = torch.where(new.isneginf(), 0.0, new)
            p = torch.where(seen, torch.exp(s - zero[..., None]), 0.0)
            a = torch.exp(m - zero)
            l, acc = l * a + p.sum(-1), acc * a[..., None] + p @ v[..., j : j + block, :].float()
            m = new
        o[..., i : i + n, :] = acc / torch.where(l == 0, 1.0, l)[..., None]
        lse[..., i : i + n] = m + l.log()
    delta = (o * do).sum(-1)
    for i in range(0, nq, block):
        r = slice(i, i + block)
        g, level = do[..., r, :].float(), lse[..., r].clone()[..., None]
        for j in range(0, nk, block):
            c = slice(j, j + block)
            s, seen = look(i, j)
            p = torch.exp(torch.where(seen, s - level, -torch.inf))
            ds = p * (g @ v[..., c, :].float().mT - delta[..., r, None]) * scale
            dq[..., r, :] += ds @ k[..., c, :].float()
            dk[..., c, :] += ds.mT @ q[..., r, :].float()
            dv[..., c, :] += p.mT @ g
    return o.to(q.dtype), lse, dq.to(q.dtype), dk.to(q.dtype), dv.to(q.dtype)


def by_halves(q, k, v, do, causal):
    """Divide and conquer over the keys: a leaf is at most 24 keys, halves are merged."""
    ninf = -math.inf
    nq, nk = q.shape[-2], k.shape[-2]
    n_lead, scale = q.dim() - 2, q.shape[-1] ** -0.5

    def leaf(x, g, lo, hi, first):
        s = (x * scale) @ k[(..., slice(lo, hi), slice(None))].float().mT
        if causal:
            see = (
                torch.arange(first, first + x.shape[-2])[:, None] + (nk - nq) - torch.arange(lo, hi)
            )
            s = s.masked_fill(see < 0, ninf)
        return s

    def solve(x, lo, hi, first):
        if hi - lo > 24:
            mid = (lo + hi) // 2
            ma, la, aa = solve(x, lo, mid, first)
            mb, lb, ab = solve(x, mid, hi, first)
            top = torch.fmax(ma, mb)
            fa, fb = (torch.where(t == ninf, 0.0, torch.exp(t - top)) for t in (ma, mb))
            return top, la * fa + lb * fb, aa * fa + ab * fb
        s = leaf(x, None, lo, hi, first)
        top = s.amax(-1, keepdim=True)
        p = torch.where(s == ninf, 0.0, torch.exp(s - top))
        return top, p.sum(-1, keepdim=True), p @ v[..., lo:hi, :].float()

    def back(x, g, lo, hi, first, lse, delta, sink):
        if hi - lo > 24:
            mid = (lo + hi) // 2
            return back(x, g, lo, mid, first, lse, delta, sink) + back(
                x, g, mid, hi, first, lse, delta, sink
            )
        s = leaf(x, g, lo, hi, first)
        p = torch.where(s == ninf, 0.0, torch.exp(s - lse))
        ds = p * (g @ v[..., lo:hi, :].float().mT - delta)
        sink[0].narrow(n_lead, lo, hi - lo).add_(ds.mT @ x, alpha=scale)
        sink[1].narrow(n_lead, lo, hi - lo).add_(p.mT @ g)
        return ds @ k[..., lo:hi, :].float() * scale

    dk, dv = torch.zeros(k.shape), torch.zeros(v.shape)
    outs = []
    for first in range(0, nq, 24):
        x, g = q[..., first : first + 24, :].float(), do[..., first : first + 24, :].float()
        if nk == 0:
            outs.append((torch.zeros_like(g), torch.full(x.shape[:-1], ninf), torch.zeros_like(x)))
            continue
        m, l, acc = solve(x, 0, nk, first)
        o = acc / l.clamp_min(1e-30)
        lse = m + l.log()
        dq = back(x, g, 0, nk, first, lse, (g * o).sum(-1, True), (dk, dv))
        outs.append((o, lse[..., 0], dq))
    o, lse, dq = zip(*outs, strict=True)
    return (torch.cat(o, -2).to(q.dtype), torch.cat(lse, -1), torch.cat(dq, -2).to(q.dtype),
            dk.to(q.dtype), dv.to(q.dtype))  # fmt: skip


def keys_outside(q, k, v, do, causal):
    """Keys outside, six at a time; all rows keep their state; masked rows are cut off by slicing."""
    nq, nk, w = q.shape[-2], k.shape[-2], v.shape[-1]
    c = 1.0 / (q.shape[-1] ** 0.5 * math.log(2.0))
    Q, G = q.to(torch.float32), do.to(torch.float32)
    state = torch.zeros(*q.shape[:-1], w + 1)  # last column: denominator
    top = torch.full((*q.shape[:-1], 1), -torch.inf)

    def strip(j):
        width = min(6, nk - j)
        first = max(0, j - (nk - nq)) if causal else 0  # rows above see none of these keys
        first = min(first, nq)
        t = (
            torch.einsum("...id,...jd->...ij", Q[..., first:, :], k[..., j : j + width, :].float())
            * c
        )
        if causal:
            for n in range(1, width):  # key j + n is seen from one row later
                t[..., : max(0, j + n - (nk - nq) - first), n] = -torch.inf
        return first, width, t

    for j in range(0, nk, 6):
        first, width, t = strip(j)
        if first == nq:
            continue
        old = top[..., first:, :].clone()
        new = torch.maximum(old, t.amax(-1, True))
        vv = torch.cat([v[..., j : j + width, :].float(), torch.ones(*v.shape[:-2], width, 1)], -1)
        state[..., first:, :] = (
            state[..., first:, :] * torch.exp2(old - new) + torch.exp2(t - new) @ vv
        )
        top[..., first:, :] = new
    l = state[..., -1:]
    alive = l > 0
    o = torch.where(alive, state[..., :-1] / torch.where(alive, l, 1), 0)
    lse2 = top + l.log2()
    delta = (o * G).sum(-1, keepdim=True)
    dq, dks, dvs = torch.zeros(q.shape), [torch.zeros(*k.shape[:-2], 0, k.shape[-1])], [
        torch.zeros(*v.shape[:-2], 0, w)]  # fmt: skip
    for j in range(0, nk, 6):
        first, width, t = strip(j)
        part_v, part_k = v[..., j : j + width, :].float(), k[..., j : j + width, :].float()
        p = torch.exp2(t - lse2[..., first:, :])
        g = G[..., first:, :]
        ds = p * (torch.einsum("...ie,...je->...ij", g, part_v) - delta[..., first:, :])
        ds = ds * q.shape[-1] ** -0.5
        dvs.append(torch.einsum("...ij,...ie->...je", p, g))
        dks.append(torch.einsum("...ij,...id->...jd", ds, Q[..., first:, :]))
        dq[..., first:, :] += torch.einsum("...ij,...jd->...id", ds, part_k)
    return (o.to(q.dtype), (lse2 * math.log(2.0)).squeeze(-1), dq.to(q.dtype),
            torch.cat(dks, -2).to(q.dtype), torch.cat(dvs, -2).to(q.dtype))  # fmt: skip


def three_sweeps_double(q, k, v, do, causal):
    """Not online at all: a sweep for the maximum, one for the sum, one for the rest; float64."""
    t64 = torch.float64
    nq, nk, d = q.shape[-2], k.shape[-2], q.shape[-1]
    flat = [x.reshape((math.prod(x.shape[:-2]),) + x.shape[-2:]) for x in (q, k, v, do)]
    res = [torch.zeros(x.shape, dtype=t64) for x in (flat[3], flat[0], flat[1], flat[2])]
    log_sum = torch.full(flat[0].shape[:2], -torch.inf, dtype=t64)
    for b, (qb, kb, vb, gb) in enumerate(zip(*flat, strict=True)):
        for i in range(0, nq, 10):
            qi, gi = qb[i : i + 10].to(t64), gb[i : i + 10].to(t64)
            lim = [min(nk, r + nk - nq + 1) if causal else nk for r in range(i, i + len(qi))]
            lim = torch.tensor(lim)[:, None]
            tiles = [(a, min(a + 12, nk)) for a in range(0, nk, 12) if a < int(lim.max())]

            def sc(a, z, qi=qi, kb=kb, lim=lim):
                raw = qi.mm(kb[a:z].to(t64).t()).div(math.sqrt(d))
                return raw, torch.arange(a, z).expand_as(raw) < lim

            mx = torch.full((len(qi), 1), -1e300, dtype=t64)
            for a, z in tiles:
                raw, ok = sc(a, z)
                mx = torch.maximum(mx, torch.where(ok, raw, -1e300).amax(1, keepdim=True))
            z_sum = torch.zeros_like(mx)
            for a, z in tiles:
                raw, ok = sc(a, z)
                z_sum += torch.where(ok, (raw - mx).clamp(max=0).exp(), 0.0).sum(1, keepdim=True)
            has = (z_sum > 0).squeeze(1)
            inv = torch.where(z_sum > 0, 1 / z_sum.clamp(min=1e-300), 0.0)
            log_sum[b, i : i + 10] = torch.where(has, (mx + z_sum.log()).squeeze(1), -torch.inf)
            for a, z in tiles:
                raw, ok = sc(a, z)
                p = torch.where(ok, (raw - mx).clamp(max=0).exp(), 0.0) * inv
                res[0][b, i : i + 10] += p @ vb[a:z].to(t64)
                res[3][b, a:z] += p.t() @ gi
            dot = (res[0][b, i : i + 10] * gi).sum(1, keepdim=True)
            for a, z in tiles:
                raw, ok = sc(a, z)
                p = torch.where(ok, (raw - mx).clamp(max=0).exp(), 0.0) * inv
                ds = p * (gi @ vb[a:z].to(t64).t() - dot) / math.sqrt(d)
                res[1][b, i : i + 10] += ds @ kb[a:z].to(t64)
                res[2][b, a:z] += ds.t() @ qi
    o, dq, dk, dv = (
        r.to(q.dtype).reshape(x.shape) for r, x in zip(res, (do, q, k, v), strict=True)
    )
    return o, log_sum.float().reshape(q.shape[:-1]), dq, dk, dv
