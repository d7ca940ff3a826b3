"""07.full, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: E731, E741, B023, N802, N803, N806
import functools
import itertools
import math

import torch
import torch.nn.functional as F  # noqa: N812

EXERCISE = "07.full"


# ---------------------------------------------------------------- wrong ones


def one_head_loops(q, k, v, do, causal):
    """Loop over heads, then tiles of 32 by 32; backward with keys outside."""
    lead, nq, nk, d, dv_ = q.shape[:-2], q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]
    scale, off, B = 1 / math.sqrt(d), nk - nq, 32
    o = torch.zeros(*lead, nq, dv_, dtype=q.dtype)
    lse = torch.zeros(*lead, nq)
    dq, dk = torch.zeros(q.shape, dtype=q.dtype), torch.zeros(k.shape, dtype=q.dtype)
    dv = torch.zeros(v.shape, dtype=q.dtype)

    def scores(qi, kj, i, j):
        s = scale * qi @ kj.T
        if causal:
            r = torch.arange(i, i + qi.shape[0])[:, None] + off
            c = torch.arange(j, j + kj.shape[0])[None, :]
            s = s.masked_fill(c > r, float("-inf"))
        return s

    for h in itertools.product(*[range(n) for n in lead]):
        Q, K, V, G = q[h].float(), k[h].float(), v[h].float(), do[h].float()
        for i in range(0, nq, B):
            qi = Q[i : i + B]
            m = torch.full((qi.shape[0], 1), float("-inf"))
            l = torch.zeros(qi.shape[0], 1)
            acc = torch.zeros(qi.shape[0], dv_)
            for j in range(0, nk, B):
                s = scores(qi, K[j : j + B], i, j)
                mn = torch.maximum(m, s.max(dim=1, keepdim=True).values)
                safe = mn.clone()
                safe[safe == float("-inf")] = 0
                a, p = torch.exp(m - safe), torch.exp(s - safe)
                l = l * a + p.sum(1, keepdim=True)
                acc = acc * a + p @ V[j : j + B]
                m = mn
            o[h][i : i + B] = (acc / torch.where(l > 0, l, torch.ones_like(l))).to(q.dtype)
            lse[h][i : i + B] = (m + torch.log(l))[:, 0]
        delta = (o[h].float() * G).sum(-1)
        L = lse[h].clone()
        L[float("-inf") == L] = 0
        gq = torch.zeros(nq, d)
        for j in range(0, nk, B):
            kj, vj = K[j : j + B], V[j : j + B]
            gk, gv = torch.zeros_like(kj), torch.zeros_like(vj)
            for i in range(0, nq, B):
                qi, gi = Q[i : i + B], G[i : i + B]
                p = torch.exp(scores(qi, kj, i, j) - L[i : i + B, None])
                dp = gi @ vj.T
                ds = p * dp - delta[i : i + B, None]
                gv += p.T @ gi
                gk += scale * ds.T @ qi
                gq[i : i + B] += scale * ds @ kj
            dk[h][j : j + B], dv[h][j : j + B] = gk.to(q.dtype), gv.to(q.dtype)
        dq[h][:] = gq.to(q.dtype)
    return o, lse, dq, dk, dv


def batched_tiles(q, k, v, do, causal):
    """All heads at once, 16 queries against 16 keys."""
    neg = -torch.inf
    Nq, Nk, D = q.size(-2), k.size(-2), q.size(-1)
    bm = bn = 16
    qf, kf, vf, dof = q.float() * D**-0.5, k.float(), v.float(), do.float()
    pos_q = torch.arange(Nq).add(Nk - Nq)
    pos_k = torch.arange(Nk)
    none = torch.zeros(*q.shape[:-2], 0)
    out, ms, lses = [torch.zeros(*q.shape[:-2], 0, v.size(-1))], [none], [none]
    for i in range(0, Nq, bm):
        qt = qf[..., i : i + bm, :]
        m = qt.new_full(qt.shape[:-1], neg)
        l = qt.new_zeros(qt.shape[:-1])
        acc = qt.new_zeros(*qt.shape[:-1], v.size(-1))
        for j in range(0, Nk, bn):
            s = qt @ kf[..., j : j + bn, :].transpose(-1, -2)
            if causal:
                s = s.masked_fill(pos_k[j : j + bn] > pos_q[i : i + bm, None], neg)
            m_new = torch.maximum(m, s.amax(-1))
            ref = torch.where(m_new == neg, 0.0, m_new)
            corr = (m - ref).exp()
            p = (s - ref.unsqueeze(-1)).exp()
            l = corr * l + p.sum(-1)
            acc = corr.unsqueeze(-1) * acc + p @ vf[..., j : j + bn, :]
            m = m_new
        out.append(acc / torch.where(l == 0, 1.0, l).unsqueeze(-1))
        ms.append(torch.where(m == neg, 0.0, m))
        lses.append(m + l.log())
    o, m, lse = torch.cat(out, -2), torch.cat(ms, -1), torch.cat(lses, -1)
    delta = (o * dof).sum(-1)
    dq = torch.zeros_like(qf)
    dk = torch.zeros(kf.shape)
    dv = torch.zeros(vf.shape)
    for j in range(0, Nk, bn):
        kt, vt = kf[..., j : j + bn, :], vf[..., j : j + bn, :]
        for i in range(0, Nq, bm):
            qt, dot = qf[..., i : i + bm, :], dof[..., i : i + bm, :]
            s = qt @ kt.transpose(-1, -2)
            if causal:
                s = s.masked_fill(pos_k[j : j + bn] > pos_q[i : i + bm, None], neg)
            p = (s - m[..., i : i + bm, None]).exp()
            ds = p * (dot @ vt.transpose(-1, -2) - delta[..., i : i + bm, None])
            dv[..., j : j + bn, :] += p.transpose(-1, -2) @ dot
            dk[..., j : j + bn, :] += ds.transpose(-1, -2) @ qt
            dq[..., i : i + bm, :] += D**-0.5 * (ds @ kt)
    return o.to(q.dtype), lse, dq.to(q.dtype), dk.to(q.dtype), dv.to(q.dtype)


def split_into_tiles(q, k, v, do, causal):
    """Tiles by torch.split, lists of results."""
    scale = q.shape[-1] ** -0.5
    nq, nk = q.shape[-2], k.shape[-2]
    size = 24
    q_ = q.float() * scale
    q_tiles, do_tiles = q_.split(size, -2), do.float().split(size, -2)
    k_tiles, v_tiles = k.float().split(size, -2), v.float().split(size, -2)
    rows = (torch.arange(nq) + nk - nq).split(size)
    cols = torch.arange(nk).split(size)

    def tile(a, b):
        s = q_tiles[a] @ k_tiles[b].mT
        if causal:
            s = torch.where(cols[b][None] <= rows[a][:, None], s, -torch.inf)
        return s

    os, lses = [], []
    for a, qt in enumerate(q_tiles):
        m = torch.full(qt.shape[:-1] + (1,), -torch.inf)  # noqa: RUF005
        l, acc = torch.zeros_like(m), torch.zeros(qt.shape[:-1] + v.shape[-1:])
        for b in range(len(k_tiles) if nk else 0):
            s = tile(a, b)
            new = torch.maximum(m, s.amax(-1, True))
            piv = new.masked_fill(new == -torch.inf, 0)
            alpha, p = (m - piv).exp(), (s - piv).exp()
            l, acc, m = l * alpha + p.sum(-1, True), acc * alpha + p @ v_tiles[b], new
        os.append(acc / l.masked_fill(l == 0, 1))
        lses.append(m + l.log())
    gq = [torch.zeros_like(t) for t in q_tiles]
    gk, gv = [], []
    for b in range(len(k_tiles)):
        dk_t, dv_t = torch.zeros_like(k_tiles[b]), torch.zeros_like(v_tiles[b])
        for a in range(len(q_tiles)):
            lse_t = lses[a].masked_fill(lses[a] == -torch.inf, 0)
            delta = (os[a] * do_tiles[a]).sum(-1, keepdim=True)
            p = (tile(a, b) - lse_t).exp()
            ds = p * (do_tiles[a] @ v_tiles[b].mT - delta) * scale
            dv_t = dv_t + p.mT @ do_tiles[a]
            dk_t = dk_t + ds.mT @ q_tiles[a]
            gq[a] = gq[a] + ds @ k_tiles[b]
        gk.append(dk_t)
        gv.append(dv_t)
    o = torch.cat(os, -2).to(q.dtype)
    lse = torch.cat(lses, -2).squeeze(-1)
    return o, lse, *(torch.cat(g, -2).to(q.dtype) for g in (gq, gk, gv))


def batched_bmm(q, k, v, do, causal):
    """Tiles that the mask hides entirely are not visited, forward and backward."""
    *lead, nq, d = q.shape
    nk, w = k.shape[-2], v.shape[-1]
    n = math.prod(lead)
    Q, K = q.float().reshape(n, nq, d), k.float().reshape(n, nk, d)
    V, DO = v.float().reshape(n, nk, w), do.float().reshape(n, nq, w)
    scale, shift, B = d**-0.5, nk - nq, 16
    O, LSE = torch.zeros(n, nq, w), torch.full((n, nq), -math.inf)
    DQ, DK, DV = torch.zeros(n, nq, d), torch.zeros(n, nk, d), torch.zeros(n, nk, w)

    def s_tile(i, j):
        s = torch.bmm(Q[:, i : i + B], K[:, j : j + B].transpose(1, 2)) * scale
        if causal and j + B > i + shift:
            r = torch.arange(i, i + s.shape[1]) + shift
            c = torch.arange(j, j + s.shape[2])
            s.masked_fill_(c > r[:, None], -math.inf)
        return s

    for i in range(0, nq, B):
        rows = min(B, nq - i)
        m, l, acc = torch.full((n, rows), -math.inf), torch.zeros(n, rows), torch.zeros(n, rows, w)
        stop = max(0, min(nk, i + rows + shift)) if causal else nk
        for j in range(0, stop, B):
            s = s_tile(i, j)
            mx = torch.maximum(m, s.amax(2))
            z = torch.where(mx.isinf(), torch.zeros_like(mx), mx)
            al = torch.exp(m - z)
            p = torch.exp(s - z[..., None])
            l = l * al + p.sum(2)
            acc = acc * al[..., None] + torch.bmm(p, V[:, j : j + B])
            m = mx
        O[:, i : i + B] = acc / l.clamp_min(1e-30)[..., None]
        LSE[:, i : i + B] = m + l.log()
    delta = (O * DO).sum(2)
    lse0 = torch.where(LSE.isinf(), torch.zeros_like(LSE), LSE)
    for j in range(0, nk, B):
        first = j // B * B if causal else 0
        for i in range(first, nq, B):
            p = torch.exp(s_tile(i, j) - lse0[:, i : i + B, None])
            g = DO[:, i : i + B]
            DV[:, j : j + B] += p.transpose(1, 2) @ g
            ds = p * (g @ V[:, j : j + B].transpose(1, 2) - delta[:, i : i + B, None])
            DK[:, j : j + B] += scale * ds.transpose(1, 2) @ Q[:, i : i + B]
            DQ[:, i : i + B] += scale * ds @ K[:, j : j + B]
    t = q.dtype
    return (O.to(t).reshape(*lead, nq, w), LSE.reshape(*lead, nq), DQ.to(t).reshape(q.shape),
            DK.to(t).reshape(k.shape), DV.to(t).reshape(v.shape))  # fmt: skip


def sixteen_by_sixteen(q, k, v, do, causal):
    """Follows the algorithm of the paper, tile by tile."""
    Nq, Nk = q.shape[-2], k.shape[-2]
    scale = 1.0 / q.shape[-1] ** 0.5
    BLOCK = 16
    o = torch.zeros(q.shape[:-1] + v.shape[-1:], dtype=q.dtype)
    lse = torch.zeros(q.shape[:-1])
    dq = torch.zeros(q.shape)
    dk = torch.zeros_like(k)
    dv = torch.zeros_like(v)

    def hidden(i0, i1, j0, j1):
        qpos = torch.arange(i0, i1).view(-1, 1) + (Nk - Nq)
        return torch.arange(j0, j1).view(1, -1) > qpos

    for i0 in range(0, Nq, BLOCK):
        i1 = min(i0 + BLOCK, Nq)
        Qi = q[..., i0:i1, :].float()
        mi = torch.full(Qi.shape[:-1], float("-inf"))
        li = torch.zeros(Qi.shape[:-1])
        Oi = torch.zeros(Qi.shape[:-1] + v.shape[-1:])
        for j0 in range(0, Nk, BLOCK):
            j1 = min(j0 + BLOCK, Nk)
            S = torch.matmul(Qi, k[..., j0:j1, :].float().transpose(-2, -1)) * scale
            if causal:
                S = S.masked_fill(hidden(i0, i1, j0, j1), float("-inf"))
            m_new = torch.maximum(mi, S.max(-1)[0])
            base = torch.where(torch.isneginf(m_new), torch.tensor(0.0), m_new)
            P = torch.exp(S - base[..., None])
            alpha = torch.exp(mi - base)
            li = li * alpha + P.sum(-1)
            Oi = Oi * alpha[..., None] + torch.matmul(P, v[..., j0:j1, :].float())
            mi = m_new
        o[..., i0:i1, :] = (Oi / torch.where(li == 0, torch.tensor(1.0), li)[..., None]).to(o.dtype)
        lse[..., i0:i1] = mi + torch.log(li)

    D = (do.float() * o.float()).sum(-1)
    for j0 in range(0, Nk, BLOCK):
        j1 = min(j0 + BLOCK, Nk)
        Kj, Vj = k[..., j0:j1, :].float(), v[..., j0:j1, :].float()
        for i0 in range(0, Nq, BLOCK):
            i1 = min(i0 + BLOCK, Nq)
            Qi, dOi = q[..., i0:i1, :].float(), do[..., i0:i1, :].float()
            S = torch.matmul(Qi, Kj.transpose(-2, -1)) * scale
            if causal:
                S = S.masked_fill(hidden(i0, i1, j0, j1), float("-inf"))
            L = lse[..., i0:i1]
            P = torch.exp(S - torch.where(torch.isneginf(L), torch.tensor(0.0), L)[..., None])
            dP = torch.matmul(dOi, Vj.transpose(-2, -1))
            dS = P * (dP - D[..., i0:i1, None])
            dv[..., j0:j1, :] += torch.matmul(P.transpose(-2, -1), dOi).to(dv.dtype)
            dk[..., j0:j1, :] += (torch.matmul(dS.transpose(-2, -1), Qi) * scale).to(dk.dtype)
            dq[..., i0:i1, :] += torch.matmul(dS, Kj) * scale
    return o, lse, dq.to(q.dtype), dk, dv


def queries_outside(q, k, v, do, causal):
    """Queries outside in both passes, einsum for the products."""
    nq, nk, inf = q.shape[-2], k.shape[-2], float("inf")
    c = q.shape[-1] ** -0.5
    step = 32
    q32, k32, v32, g32 = (t.to(torch.float32) for t in (q, k, v, do))
    o = torch.zeros(*q.shape[:-1], v.shape[-1])
    lse = torch.full(q.shape[:-1], -inf)
    dq, dk, dv = torch.zeros(q.shape), torch.zeros(k.shape), torch.zeros(v.shape)
    for i in range(0, nq, step):
        I = slice(i, min(i + step, nq))
        at = torch.arange(I.start, I.stop) + nk - nq

        def logits(J):
            s = torch.einsum("...id,...jd->...ij", q32[..., I, :], k32[..., J, :]) * c
            if causal:
                s.masked_fill_(torch.arange(J.start, J.stop)[None, :] > at[:, None], -inf)
            return s

        tiles = [slice(j, min(j + step, nk)) for j in range(0, nk, step)]
        m, l = lse[..., I].clone(), torch.zeros(lse[..., I].shape)
        acc = torch.zeros(o[..., I, :].shape)
        for J in tiles:
            s = logits(J)
            m2 = torch.maximum(m, s.amax(-1))
            r = m2.where(m2 > -inf, torch.zeros(()))
            p = (s - r[..., None]).exp()
            l = l * (m - r).exp() + p.sum(-1)
            acc = acc * (m - r).exp()[..., None] + torch.einsum(
                "...ij,...jd->...id", p, v32[..., J, :]
            )
            m = m2
        o[..., I, :] = acc / l.where(l > 0, torch.ones(()))[..., None]
        lse[..., I] = m + l.log()
        L = lse[..., I].where(l > 0, torch.zeros(()))
        for J in tiles:
            p = (logits(J) - L[..., None]).exp()
            dp = torch.einsum("...id,...jd->...ij", g32[..., I, :], v32[..., J, :])
            ds = p * (dp - (p * dp).sum(-1, keepdim=True))
            dv[..., J, :] += torch.einsum("...ij,...id->...jd", p, g32[..., I, :])
            dk[..., J, :] += c * torch.einsum("...ij,...id->...jd", ds, q32[..., I, :])
            dq[..., I, :] += c * torch.einsum("...ij,...jd->...id", ds, k32[..., J, :])
    return o.to(q.dtype), lse, dq.to(q.dtype), dk.to(q.dtype), dv.to(q.dtype)


def heads_flattened(q, k, v, do, causal):
    """Heads flattened into one axis, tiles of 16 by 32."""
    NEG = -1e9
    lead, (nq, d), (nk, w) = q.shape[:-2], q.shape[-2:], v.shape[-2:]
    heads = math.prod(lead)
    qs = q.reshape(heads, nq, d).float() / math.sqrt(d)
    ks, vs = k.reshape(heads, nk, d).float(), v.reshape(heads, nk, w).float()
    gs = do.reshape(heads, nq, w).float()
    bm, bn = 16, 32
    i_idx, j_idx = torch.arange(nq) + (nk - nq), torch.arange(nk)
    o, lse = torch.zeros(heads, nq, w), torch.full((heads, nq), -torch.inf)
    dq, dk, dv = torch.zeros_like(qs), torch.zeros(heads, nk, d), torch.zeros(heads, nk, w)

    def get_s(i, j):
        s = qs[:, i : i + bm] @ ks[:, j : j + bn].mT
        if causal:
            s = s.masked_fill(i_idx[i : i + bm, None] < j_idx[j : j + bn], NEG)
        return s

    for i in range(0, nq, bm):
        t = slice(i, i + bm)
        m = torch.full_like(lse[:, t], -torch.inf)
        l, acc = torch.zeros_like(m), torch.zeros_like(o[:, t])
        for j in range(0, nk, bn):
            s = get_s(i, j)
            m_new = torch.maximum(m, s.amax(-1))
            p, a = (s - m_new[..., None]).exp(), (m - m_new).exp()
            l, acc, m = a * l + p.sum(-1), a[..., None] * acc + p @ vs[:, j : j + bn], m_new
        o[:, t] = acc / l.masked_fill(l == 0, 1.0)[..., None]
        lse[:, t] = m + l.log()
    delta = (gs * o).sum(-1)
    for i in range(0, nq, bm):
        t = slice(i, i + bm)
        L = lse[:, t].masked_fill(lse[:, t] == -torch.inf, 0.0)
        for j in range(0, nk, bn):
            u = slice(j, j + bn)
            p = (get_s(i, j) - L[..., None]).exp()
            ds = p * (gs[:, t] @ vs[:, u].mT - delta[:, t, None])
            dq[:, t] += ds @ ks[:, u] / math.sqrt(d)
            dk[:, u] += ds.mT @ qs[:, t]
            dv[:, u] += p.mT @ gs[:, t]
    dt = q.dtype
    return (o.view(*lead, nq, w).to(dt), lse.view(*lead, nq), dq.view(q.shape).to(dt),
            dk.view(k.shape).to(dt), dv.view(v.shape).to(dt))  # fmt: skip


def padded_to_tiles(q, k, v, do, causal):
    """Whole tiles only; the results are cut at the end."""
    B, nq, nk = 16, q.shape[-2], k.shape[-2]
    up = lambda x: F.pad(x.float(), (0, 0, 0, -x.shape[-2] % B))
    qp, kp, vp, gp = up(q), up(k), up(v), up(do)
    scale = q.shape[-1] ** -0.5
    tq, tk = qp.shape[-2] // B, kp.shape[-2] // B
    o = torch.zeros(qp.shape[:-1] + vp.shape[-1:])
    lse = torch.full(qp.shape[:-1], -torch.inf)
    dq, dk, dv = torch.zeros_like(qp), torch.zeros_like(kp), torch.zeros_like(vp)
    ar = torch.arange(B)

    def cut(x, a):
        return x[..., a * B : (a + 1) * B, :]

    def s_of(a, b):
        s = scale * cut(qp, a) @ cut(kp, b).mT
        if causal:
            see = (b * B + ar)[None, :] <= (a * B + ar)[:, None] + nk - nq
            s = torch.where(see, s, -torch.inf)
        return s

    for a in range(tq):
        m = torch.full(qp.shape[:-2] + (B,), -torch.inf)  # noqa: RUF005
        l = torch.zeros_like(m)
        acc = torch.zeros_like(cut(o, a))
        for b in range(tk):
            s = s_of(a, b)
            hi = torch.maximum(m, s.amax(-1))
            ref = torch.nan_to_num(hi, neginf=0.0)
            f, p = torch.exp(m - ref), torch.exp(s - ref[..., None])
            l = f * l + p.sum(-1)
            acc = f[..., None] * acc + p @ cut(vp, b)
            m = hi
        cut(o, a).copy_(acc / torch.where(l == 0, 1, l)[..., None])
        lse[..., a * B : (a + 1) * B] = m + torch.log(l)
    delta = (gp * o).sum(-1, keepdim=True)
    L = torch.nan_to_num(lse, neginf=0.0)[..., None]
    for b in range(tk):
        for a in range(tq):
            p = torch.exp(s_of(a, b) - cut(L, a))
            ds = p * (cut(gp, a) @ cut(vp, b).mT - cut(delta, a))
            cut(dv, b).add_(p.mT @ cut(gp, a))
            cut(dk, b).add_(ds.mT @ cut(qp, a), alpha=scale)
            cut(dq, a).add_(ds @ cut(kp, b), alpha=scale)
    t = q.dtype
    return (o[..., :nq, :].to(t), lse[..., :nq], dq[..., :nq, :].to(t),
            dk[..., :nk, :].to(t), dv[..., :nk, :].to(t))  # fmt: skip


def forward_then_backward(q, k, v, do, causal):
    """A forward function that returns o and what backward needs, then backward."""

    def mask_(s, i, j):
        if causal:
            r = torch.arange(i, i + s.shape[-2])[:, None] + k.shape[-2] - q.shape[-2]
            s[..., torch.arange(j, j + s.shape[-1]) > r] = -torch.inf
        return s

    bq, bk, scale = 32, 16, q.shape[-1] ** -0.5

    def forward():
        o, lse = [do[..., :0, :].float()], [torch.zeros(*q.shape[:-2], 0)]
        for i in range(0, q.shape[-2], bq):
            qi = q[..., i : i + bq, :].float()
            m = torch.full((*qi.shape[:-1], 1), -torch.inf)
            l = torch.zeros_like(m)
            acc = torch.zeros(*qi.shape[:-1], v.shape[-1])
            for j in range(0, k.shape[-2], bk):
                s = mask_(qi @ k[..., j : j + bk, :].float().mT * scale, i, j)
                m_new = torch.maximum(m, s.amax(-1, keepdim=True))
                safe = torch.where(m_new == -torch.inf, 0.0, m_new)
                p = torch.exp(s - safe)
                l = l * torch.exp(m - safe) + p.sum(-1, keepdim=True)
                acc = acc + p @ v[..., j : j + bk, :].float()
                m = m_new
            o.append(acc / torch.where(l == 0, 1.0, l))
            lse.append((m + l.log()).squeeze(-1))
        return torch.cat(o, -2), torch.cat(lse, -1)

    def backward(o, lse):
        dq, dk, dv = (torch.zeros(t.shape) for t in (q, k, v))
        lse = torch.where(lse == -torch.inf, 0.0, lse)[..., None]
        delta = (o * do.float()).sum(-1, keepdim=True)
        for i in range(0, q.shape[-2], bq):
            R = (..., slice(i, i + bq), slice(None))
            for j in range(0, k.shape[-2], bk):
                C = (..., slice(j, j + bk), slice(None))
                s = mask_(q[R].float() @ k[C].float().mT * scale, i, j)
                p = torch.exp(s - lse[R])
                ds = scale * p * (do[R].float() @ v[C].float().mT - delta[R])
                dv[C] += p.mT @ do[R].float()
                dk[C] += ds.mT @ q[R].float()
                dq[R] += ds @ k[C].float()
        return dq, dk, dv

    o, lse = forward()
    grads = backward(o, lse)
    return o.to(q.dtype), lse, *(g.to(q.dtype) for g in grads)


# ---------------------------------------------------------------- right ones


def keys_outside_five_products(q, k, v, do, causal):
    """Every head by itself; 16 by 16 tiles; the backward pass makes all three gradients at once."""
    lead = q.shape[:-2]
    nq, nk, d, w = q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]
    o, lse = q.new_zeros(*lead, nq, w), torch.full((*lead, nq), -torch.inf)
    grads = q.new_zeros(q.shape), q.new_zeros(k.shape), q.new_zeros(v.shape)
    for head in itertools.product(*map(range, lead)):
        Q, K, V, G = (x[head].float() for x in (q, k, v, do))
        O, L = torch.zeros(nq, w), torch.full((nq,), -torch.inf)
        for i in range(0, nq, 16):
            state = None
            last = min(nk, max(0, min(i + 16, nq) + nk - nq)) if causal else nk
            for j in range(0, last, 16):
                e = min(j + 16, last)
                s = Q[i : i + 16] @ K[j:e].T / d**0.5
                if causal:
                    pos = torch.arange(i, i + len(s)) + nk - nq
                    s = s.masked_fill(torch.arange(j, e) > pos[:, None], -torch.inf)
                top = s.amax(1) if state is None else torch.maximum(state[0], s.amax(1))
                piv = torch.where(top == -torch.inf, 0, top)
                p = (s - piv[:, None]).exp()
                l, acc = p.sum(1), p @ V[j:e]
                if state is not None:
                    a = (state[0] - piv).exp()
                    l, acc = l + a * state[1], acc + a[:, None] * state[2]
                state = top, l, acc
            if state is not None:
                top, l, acc = state
                O[i : i + 16] = acc / torch.where(l == 0, 1, l)[:, None]
                L[i : i + 16] = top + l.log()
        delta, L0 = (O * G).sum(1), torch.where(-torch.inf == L, 0, L)
        dQ, dK, dV = torch.zeros(nq, d), torch.zeros(nk, d), torch.zeros(nk, w)
        for j in range(0, nk, 16):
            for i in range(0, nq, 16):
                qi, gi, kj, vj = Q[i : i + 16], G[i : i + 16], K[j : j + 16], V[j : j + 16]
                s = qi @ kj.T / d**0.5
                if causal:
                    pos = torch.arange(i, i + len(s)) + nk - nq
                    s = s.masked_fill(torch.arange(j, j + len(kj)) > pos[:, None], -torch.inf)
                p = (s - L0[i : i + 16, None]).exp()
                dV[j : j + 16] += p.T @ gi
                ds = p * (gi @ vj.T - delta[i : i + 16, None]) / d**0.5
                dK[j : j + 16] += ds.T @ qi
                dQ[i : i + 16] += ds @ kj
        for whole, part in zip((o, lse, *grads), (O, L, dQ, dK, dV)):  # noqa: B905
            whole[head] = part.to(whole.dtype)
    return o, lse, *grads


def multiply_by_visible(q, k, v, do, causal):
    """All heads together; hidden pairs are struck out of p by torch.where, never out of lse."""
    nq, nk = q.size(-2), k.size(-2)
    c = q.size(-1) ** -0.5
    f32 = [t.to(torch.float32) for t in (q, k, v, do)]
    (Q, K, V, G), B = f32, 16
    qpos, kpos = torch.arange(nk - nq, nk), torch.arange(nk)
    O, L = torch.zeros(*q.shape[:-1], v.size(-1)), torch.empty(q.shape[:-1])
    dQ, dK, dV = torch.zeros(q.shape), torch.zeros(k.shape), torch.zeros(v.shape)
    for i in range(0, nq, B):
        I = slice(i, i + B)
        m = torch.full(L[..., I].shape, -1e30)
        l, acc = torch.zeros(m.shape), torch.zeros(O[..., I, :].shape)

        def pair(J):
            s = c * (Q[..., I, :] @ K[..., J, :].transpose(-1, -2))
            see = kpos[J] <= qpos[I, None] if causal else torch.ones(s.shape[-2:], dtype=torch.bool)
            return s, see

        blocks = [slice(j, j + B) for j in range(0, nk, B)]
        for J in blocks:
            s, see = pair(J)
            up = torch.maximum(m, torch.where(see, s, -1e30).amax(-1))
            p = torch.where(see, (s - up[..., None]).exp(), 0.0)
            shrink = (m - up).exp()
            l = l * shrink + p.sum(-1)
            acc = acc * shrink[..., None] + p @ V[..., J, :]
            m = up
        alive = l > 0
        O[..., I, :] = torch.where(alive[..., None], acc / l[..., None], 0.0)
        L[..., I] = torch.where(alive, m + l.log(), -torch.inf)
        g = G[..., I, :]
        delta = torch.linalg.vecdot(g, O[..., I, :])
        for J in blocks:
            s, see = pair(J)
            p = torch.where(see, (s - L[..., I, None]).exp(), 0.0)
            dV[..., J, :] += p.transpose(-1, -2) @ g
            ds = p * (g @ V[..., J, :].transpose(-1, -2) - delta[..., None])
            dK[..., J, :] += c * (ds.transpose(-1, -2) @ Q[..., I, :])
            dQ[..., I, :] += c * (ds @ K[..., J, :])
    return O.to(q.dtype), L, dQ.to(q.dtype), dK.to(q.dtype), dV.to(q.dtype)


def maximum_first(q, k, v, do, causal):
    """Nothing online: one walk finds the maximum, one the sum, and tiles stand on their side."""
    lead, nq, nk = q.shape[:-2], q.shape[-2], k.shape[-2]
    n, d, w = math.prod(lead), q.shape[-1], v.shape[-1]
    qt = q.reshape(n, nq, d).float().mT / d**0.25  # columns are queries
    kk = k.reshape(n, nk, d).float() / d**0.25
    vv, gt = v.reshape(n, nk, w).float(), do.reshape(n, nq, w).float().mT
    rows, cols = range(0, nq, 32), range(0, nk, 8)

    def sT(i, j):  # [n, keys, queries]
        t = kk[:, j : j + 8] @ qt[..., i : i + 32]
        if causal:
            key = torch.arange(j, j + t.shape[1])[:, None]
            seen_upto = torch.arange(i, i + t.shape[2]) + (nk - nq)
            t = t.masked_fill(key > seen_upto, -torch.inf)
        return t

    top = torch.full((n, nq), -torch.inf)
    for i, j in itertools.product(rows, cols):
        top[:, i : i + 32] = torch.maximum(top[:, i : i + 32], sT(i, j).amax(1))
    dead = top == -torch.inf
    top = top.masked_fill(dead, 0)
    total, oT = torch.zeros(n, nq), torch.zeros(n, w, nq)
    for i, j in itertools.product(rows, cols):
        e = torch.exp(sT(i, j) - top[:, None, i : i + 32])
        total[:, i : i + 32] += e.sum(1)
        oT[..., i : i + 32] += vv[:, j : j + 8].mT @ e
    oT = oT / total.masked_fill(dead, 1)[:, None]
    lse = top + total.masked_fill(dead, 1).log()
    Delta = (oT * gt).sum(1)
    dqT, dk, dv = torch.zeros(n, d, nq), torch.zeros(n, nk, d), torch.zeros(n, nk, w)
    for j, i in itertools.product(cols, rows):  # what the keys get
        R, C = slice(i, i + 32), slice(j, j + 8)
        pT = torch.exp(sT(i, j) - lse[:, None, R])
        dv[:, C] += pT @ gt[..., R].mT
        dk[:, C] += (pT * (vv[:, C] @ gt[..., R] - Delta[:, None, R])) @ qt[..., R].mT
    for i, j in itertools.product(rows, cols):  # what the queries get
        R, C = slice(i, i + 32), slice(j, j + 8)
        pT = torch.exp(sT(i, j) - lse[:, None, R])
        dqT[..., R] += kk[:, C].mT @ (pT * (vv[:, C] @ gt[..., R] - Delta[:, None, R]))
    back = lambda x, like: x.reshape(like.shape).to(q.dtype)
    return (back(oT.mT, do), lse.masked_fill(dead, -torch.inf).reshape(*lead, nq),
            back(dqT.mT / d**0.25, q), back(dk / d**0.25, k), back(dv, v))  # fmt: skip


def reduce_over_parts(q, k, v, do, causal):
    """Each tile is a finished attention of its own; neighbours are combined through their lse."""
    nq, nk, width = q.shape[-2], k.shape[-2], v.shape[-1]
    dot = functools.partial(torch.einsum, "...id,...jd->...ij")
    mix = functools.partial(torch.einsum, "...ij,...jd->...id")
    mixT = functools.partial(torch.einsum, "...ij,...id->...jd")
    ninf = float("-inf")

    def chunks(n, size):
        return [slice(a, min(a + size, n)) for a in range(0, n, size)]

    def load(x, sl):
        return x[..., sl, :].to(torch.float32)

    def score(I, J):
        s = dot(load(q, I), load(k, J)).div(math.sqrt(q.shape[-1]))
        if causal:
            gap = torch.arange(J.start, J.stop) - torch.arange(I.start, I.stop)[:, None]
            s = s + torch.zeros(gap.shape).masked_fill(gap > nk - nq, ninf)
        return s

    def safe(x):
        return torch.where(x == ninf, torch.zeros_like(x), x)

    def part(I, J):
        s = score(I, J)
        hi = safe(s.amax(-1, keepdim=True))
        e = (s - hi).exp()
        z = e.sum(-1, keepdim=True)
        return mix(e, load(v, J)) / torch.where(z > 0, z, 1.0), hi + z.log()

    def combine(x, y):
        (o1, L1), (o2, L2) = x, y
        big = safe(torch.maximum(L1, L2))
        w1, w2 = (L1 - big).exp(), (L2 - big).exp()
        z = w1 + w2
        return (w1 * o1 + w2 * o2) / torch.where(z > 0, z, 1.0), big + z.log()

    keys, queries = chunks(nk, 16), chunks(nq, 16)
    outs, logs, dqs = [], [], []
    dk, dv = torch.zeros(k.shape), torch.zeros(v.shape)
    for I in queries:
        shape = load(q, I).shape[:-1]
        start = torch.zeros(*shape, width), torch.full((*shape, 1), ninf)
        o, L = functools.reduce(combine, (part(I, J) for J in keys), start)
        g, base = load(do, I), safe(L)
        row = torch.zeros(*shape, 1)  # sum of p * dp over the whole row
        for J in keys:
            row = row + ((score(I, J) - base).exp() * dot(g, load(v, J))).sum(-1, keepdim=True)
        dq = torch.zeros(load(q, I).shape)
        for J in keys:
            p = (score(I, J) - base).exp()
            ds = (p * dot(g, load(v, J)) - p * row) / math.sqrt(q.shape[-1])
            dq = dq + mix(ds, load(k, J))
            dk[..., J, :] += mixT(ds, load(q, I))
            dv[..., J, :] += mixT(p, g)
        outs.append(o), logs.append(L[..., 0]), dqs.append(dq)
    if not queries:
        outs, logs, dqs = (
            [torch.zeros(do.shape)],
            [torch.zeros(q.shape[:-1])],
            [torch.zeros(q.shape)],
        )
    return (torch.cat(outs, -2).to(q.dtype), torch.cat(logs, -1), torch.cat(dqs, -2).to(q.dtype),
            dk.to(q.dtype), dv.to(q.dtype))  # fmt: skip


def base_two_extra_column(q, k, v, do, causal):
    """Powers of two; lse and Delta ride along as one more column of q and of do."""
    log2e = 1.4426950408889634
    t, (nq, d), (nk, w) = q.dtype, q.shape[-2:], v.shape[-2:]
    o, lse2 = torch.zeros(do.shape), torch.full((*do.shape[:-1], 1), -torch.inf)
    one = torch.ones(*k.shape[:-1], 1)
    kx = torch.cat([k.float() * (log2e / d**0.5), -one], -1)
    vx = torch.cat([v.float(), -one], -1)
    for i in range(0, nq, 16):
        a = q[..., i : i + 16, :].float()
        m = torch.full((*a.shape[:-1], 1), -torch.inf)
        acc = torch.zeros(*a.shape[:-1], w + 1)  # the last column collects -l
        for j in range(0, nk, 16):
            s = a @ kx[..., j : j + 16, :-1].mT
            if causal:
                far = torch.arange(j, j + s.shape[-1]) - torch.arange(i, i + s.shape[-2]).unsqueeze(
                    1
                )
                s[..., far > nk - nq] = -torch.inf
            m, old = torch.maximum(m, s.amax(-1, True)), m
            z = m.clamp(min=-3e38)
            acc = acc * (old - z).exp2() + (s - z).exp2() @ vx[..., j : j + 16, :]
        l = -acc[..., -1:]
        o[..., i : i + 16, :] = acc[..., :-1] / l.clamp(min=2.0**-100)
        lse2[..., i : i + 16, :] = m + l.log2()
    dead = lse2.isneginf()
    qx = torch.cat([q.float(), lse2.masked_fill(dead, 0)], -1)
    gx = torch.cat([do.float(), (do.float() * o).sum(-1, True)], -1)
    dq, dk, dv = torch.zeros(q.shape), torch.zeros(k.shape), torch.zeros(v.shape)
    for j in range(0, nk, 16):
        kj, vj = kx[..., j : j + 16, :], vx[..., j : j + 16, :]
        for i in range(0, nq, 16):
            qi, gi = qx[..., i : i + 16, :], gx[..., i : i + 16, :]
            p = (qi[..., :-1] @ kj[..., :-1].mT - qi[..., -1:]).exp2()
            if causal:
                far = torch.arange(j, j + p.shape[-1]) - torch.arange(i, i + p.shape[-2]).unsqueeze(
                    1
                )
                p[..., far > nk - nq] = 0
            ds = p * (gi @ vj.mT)
            dv[..., j : j + 16, :] += p.mT @ gi[..., :-1]
            dk[..., j : j + 16, :] += ds.mT @ qi[..., :-1] / d**0.5
            dq[..., i : i + 16, :] += ds @ kj[..., :-1] / log2e
    return o.to(t), lse2[..., 0] / log2e, dq.to(t), dk.to(t), dv.to(t)


BUGS = {
    # ds = p * dp - delta: the parentheses are missing, so Delta is subtracted without the factor
    # p (should be p * (dp - delta)); dq and dk are wrong.
    "one_head_loops": {"delta-outside"},
    # The backward pass rebuilds p as e^(s - m) with the saved row maximum m instead of lse, so p
    # is not divided by l; dq, dk and dv are wrong.
    "batched_tiles": {"p-not-normalised"},
    # q was multiplied by the scale at the top, and dk = scale * ds^T @ (scaled q) applies the
    # scale a second time; only dk is wrong.
    "split_into_tiles": {"dk-scaled-twice"},
    # In the causal backward the first row block for keys at j is taken as j, without the bottom-
    # right offset (should be j - (Nk - Nq), at least 0); with more keys than queries visible
    # tiles are skipped, so dq, dk, dv are incomplete.
    "batched_bmm": {"backward.bound-without-offset"},
    # dk and dv are allocated with zeros_like(k), zeros_like(v), so in half precision they are
    # accumulated in half precision over the query tiles instead of float32.
    "sixteen_by_sixteen": {"gradients-summed-in-half", "wrong-dtype"},
    # The row sum of p * dp in ds is taken over the keys of the current tile only, not over the
    # whole row (Delta); dq and dk are wrong as soon as there is more than one key tile.
    "queries_outside": {"delta-per-tile"},
    # Hidden scores become -1e9 instead of -inf, so a causal row that sees no key gets a uniform
    # average of V, lse about -1e9 and non-zero gradients instead of 0, -inf and none.
    "heads_flattened": {"finite-mask"},
    # K and V are padded with zero rows to whole tiles and the padded keys are not masked (without
    # causal): each adds e^0 to the denominator when Nk is no multiple of 16.
    "padded_to_tiles": {"padding-counted"},
    # In the forward loop acc is not multiplied with e^(m - m_new) when the maximum rises (l is);
    # o is wrong, and with it Delta, dq and dk.
    "forward_then_backward": {"acc-not-rescaled"},
}

RIGHT = (
    "keys_outside_five_products",
    "multiply_by_visible",
    "maximum_first",
    "reduce_over_parts",
    "base_two_extra_column",
)
