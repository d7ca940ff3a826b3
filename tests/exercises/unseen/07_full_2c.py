"""07.full, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E731, E741, N802, N806, SIM300
import math

import torch

EXERCISE = "07.full"

BUGS = {
    # reshape of a zeros_like with preserved non-contiguous strides is a copy, so gradients of
    # permuted inputs are written into it and zeros are returned
    "write_through": {"written-to-a-copy"},
    # the backward computes exp2(s * log2 e - lse) with lse in natural units, not lse * log2 e
    "base_two": {"lse-base-mixed"},
    # lse is stored in the dtype of q (half precision) and converted back to float32: rounded lse
    # is returned and used to rebuild P
    "saved_like_q": {"lse-in-half"},
    # dv uses P instead of P^T (sums over keys, not over queries), unnoticed because tiles are
    # square
    "einsum_tiles": {"p-not-transposed"},
}
RIGHT = []

LOG2E = 1.4426950408889634


def write_through(q, k, v, do, causal):
    """Gradients are written into buffers shaped like the inputs, through a flat view."""
    M, D = q.shape[-2:]
    N, E = v.shape[-2:]
    H = math.prod(q.shape[:-2])

    def buffer(like):
        whole = torch.zeros_like(like)
        return whole, whole.reshape(H, like.shape[-2], like.shape[-1])

    def flat(x):
        return x.reshape(H, x.shape[-2], x.shape[-1])

    (dq, dq_), (dk, dk_), (dv, dv_) = buffer(q), buffer(k), buffer(v)
    o = q.new_zeros(H, M, E)
    lse = torch.full((H, M), -math.inf, device=q.device)
    delta = torch.zeros((H, M), device=q.device)
    Q, K, V, G = flat(q), flat(k), flat(v), flat(do)
    BM, BN, sc = 16, 16, D**-0.5

    def S(i, j):
        s = Q[:, i : i + BM].float() @ K[:, j : j + BN].float().transpose(-1, -2) * sc
        if causal:
            ii = torch.arange(M, device=q.device)[i : i + BM, None]
            jj = torch.arange(N, device=q.device)[None, j : j + BN]
            s = s + torch.zeros_like(s[0]).masked_fill(jj - ii > N - M, -math.inf)
        return s

    for i in range(0, M, BM):
        r = slice(i, i + BM)
        m = torch.full_like(lse[:, r], -math.inf)
        l, acc = torch.zeros_like(m), torch.zeros(*m.shape, E, device=q.device)
        for j in range(0, N, BN):
            s = S(i, j)
            m_ = torch.maximum(m, s.amax(-1))
            c = m_.clamp(min=-3e38)
            p = torch.exp(s - c[..., None])
            a = torch.exp(m - c)
            l = l * a + p.sum(-1)
            acc = acc * a[..., None] + p @ V[:, j : j + BN].float()
            m = m_
        out = acc / l.clamp(min=1)[..., None]
        o[:, r], lse[:, r] = out.to(q.dtype), m + l.log()
        delta[:, r] = (out * G[:, r].float()).sum(-1)
    L = lse.clamp(min=-3e38)[..., None]
    for i in range(0, M, BM):
        r, total = slice(i, i + BM), 0.0
        for j in range(0, N, BN):
            c = slice(j, j + BN)
            p = torch.exp(S(i, j) - L[:, r])
            ds = p * (G[:, r].float() @ V[:, c].float().mT - delta[:, r, None])
            total = total + ds @ K[:, c].float() * sc
        dq_[:, r] = total
    for j in range(0, N, BN):
        c, total_k, total_v = slice(j, j + BN), 0.0, 0.0
        for i in range(0, M, BM):
            r = slice(i, i + BM)
            p = torch.exp(S(i, j) - L[:, r])
            ds = p * (G[:, r].float() @ V[:, c].float().mT - delta[:, r, None])
            total_v = total_v + p.mT @ G[:, r].float()
            total_k = total_k + ds.mT @ Q[:, r].float() * sc
        dk_[:, c], dv_[:, c] = total_k, total_v
    return o.reshape(do.shape), lse.reshape(q.shape[:-1]), dq, dk, dv


def base_two(q, k, v, do, causal):
    """exp2 everywhere, log2(e) folded into the scale, as the kernels do."""
    nq, nk, d, e = q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]
    off, scale = nk - nq, d**-0.5
    heads = math.prod(q.shape[:-2])
    Q = q.float().reshape(heads, nq, d)
    K = k.float().reshape(heads, nk, d)
    V = v.float().reshape(heads, nk, e)
    dO = do.float().reshape(heads, nq, e)

    def score2(i, j, bm, bn):
        s = torch.einsum("hmd,hnd->hmn", Q[:, i : i + bm], K[:, j : j + bn]) * (scale * LOG2E)
        if causal:
            hidden = torch.ones(s.shape[1:], dtype=torch.bool).triu(i + off - j + 1)
            s = s.masked_fill(hidden, -torch.inf)
        return s

    O, lse = torch.zeros(heads, nq, e), torch.full((heads, nq), -torch.inf)
    for i in range(0, nq, 32):
        r = slice(i, min(nq, i + 32))
        m = lse[:, r].clone()
        l, acc = torch.zeros_like(m), torch.zeros(*m.shape, e)
        for j in range(0, nk, 8):
            s = score2(i, j, 32, 8)
            m_new = torch.maximum(m, s.amax(2))
            piv = torch.where(m_new == -torch.inf, 0.0, m_new)
            p = torch.exp2(s - piv[:, :, None])
            f = torch.exp2(m - piv)
            l, m = l * f + p.sum(2), m_new
            acc = acc * f[:, :, None] + torch.einsum("hmn,hne->hme", p, V[:, j : j + 8])
        O[:, r] = acc / torch.where(l == 0, 1.0, l)[:, :, None]
        lse[:, r] = (m + l.log2()) / LOG2E
    delta = torch.einsum("hme,hme->hm", O, dO)
    lse2 = torch.where(lse == -torch.inf, 0.0, lse)
    dQ, dK, dV = torch.zeros_like(Q), torch.zeros_like(K), torch.zeros_like(V)
    for j in range(0, nk, 32):
        c = slice(j, j + 32)
        for i in range(0, nq, 8):
            r = slice(i, i + 8)
            p = torch.exp2(score2(i, j, 8, 32) - lse2[:, r, None])
            dp = torch.einsum("hme,hne->hmn", dO[:, r], V[:, c])
            ds = p * (dp - delta[:, r, None]) * scale
            dV[:, c] += torch.einsum("hmn,hme->hne", p, dO[:, r])
            dK[:, c] += torch.einsum("hmn,hmd->hnd", ds, Q[:, r])
            dQ[:, r] += torch.einsum("hmn,hnd->hmd", ds, K[:, c])
    return (O.reshape(do.shape).to(q.dtype), lse.reshape(q.shape[:-1]),
            dQ.reshape(q.shape).to(q.dtype), dK.reshape(k.shape).to(q.dtype),
            dV.reshape(v.shape).to(q.dtype))  # fmt: skip


def saved_like_q(q, k, v, do, causal):
    """o and lse are allocated from q; everything between is float32."""
    n_q, n_k, scale = q.size(-2), k.size(-2), q.size(-1) ** -0.5
    o, lse = q.new_zeros(*q.shape[:-1], v.size(-1)), q.new_zeros(q.shape[:-1])
    delta = torch.zeros(q.shape[:-1])
    dq, dk, dv = torch.zeros(q.shape), torch.zeros(k.shape), torch.zeros(v.shape)
    limit = torch.arange(n_q) + (n_k - n_q) if causal else torch.full((n_q,), n_k)

    def masked_scores(r, c):
        s = (q[..., r, :].float() * scale) @ k[..., c, :].float().mT
        cols = torch.arange(n_k)[c]
        return torch.where(cols <= limit[r].unsqueeze(-1), s, -torch.inf)

    for i in range(0, n_q, 64):
        r = slice(i, min(i + 64, n_q))
        acc = torch.zeros(*q.shape[:-2], r.stop - i, v.size(-1))
        l = torch.zeros(acc.shape[:-1])
        m = torch.full(acc.shape[:-1], -torch.inf)
        for j in range(0, n_k, 16):
            c = slice(j, j + 16)
            s = masked_scores(r, c)
            m_old, m = m, torch.maximum(m, s.amax(-1))
            pivot = torch.where(m.isneginf(), 0.0, m)
            p, a = (s - pivot.unsqueeze(-1)).exp(), (m_old - pivot).exp()
            l = a * l + p.sum(-1)
            acc = a.unsqueeze(-1) * acc + p @ v[..., c, :].float()
        acc = acc / torch.where(l == 0, 1.0, l).unsqueeze(-1)
        o[..., r, :] = acc
        lse[..., r] = m + l.log()
        delta[..., r] = (acc * do[..., r, :].float()).sum(-1)
    for j in range(0, n_k, 16):
        c = slice(j, j + 16)
        for i in range(0, n_q, 64):
            r = slice(i, i + 64)
            level = lse[..., r].float()
            p = (masked_scores(r, c) - torch.where(level.isneginf(), 0.0, level)[..., None]).exp()
            g = do[..., r, :].float()
            dv[..., c, :] += p.mT @ g
            ds = p * (g @ v[..., c, :].float().mT - delta[..., r, None]) * scale
            dk[..., c, :] += ds.mT @ q[..., r, :].float()
            dq[..., r, :] += ds @ k[..., c, :].float()
    return o, lse.float(), dq.to(q.dtype), dk.to(q.dtype), dv.to(q.dtype)


def einsum_tiles(q, k, v, do, causal):
    """Square tiles of 16, padded; every product is an einsum."""
    S = 16
    (nq, d), (nk, e) = q.shape[-2:], v.shape[-2:]
    b = math.prod(q.shape[:-2])
    up = lambda n: n + -n % S
    Q, G = torch.zeros(b, up(nq), d), torch.zeros(b, up(nq), e)
    K, V = torch.zeros(b, up(nk), d), torch.zeros(b, up(nk), e)
    Q[:, :nq], G[:, :nq] = q.reshape(b, nq, d), do.reshape(b, nq, e)
    K[:, :nk], V[:, :nk] = k.reshape(b, nk, d), v.reshape(b, nk, e)
    last = torch.arange(up(nq)) + (nk - nq) if causal else torch.full((up(nq),), nk - 1)
    last = last.clamp(max=nk - 1)

    def probs(i, j, level):
        s = torch.einsum("bid,bjd->bij", Q[:, i : i + S], K[:, j : j + S]) / d**0.5
        gone = torch.arange(j, j + S) > last[i : i + S, None]
        return (
            s.masked_fill(gone, -torch.inf)
            if level is None
            else torch.exp(s.masked_fill(gone, -torch.inf) - level[..., None])
        )

    O, LSE = torch.zeros_like(G), torch.full((b, up(nq)), -torch.inf)
    for i in range(0, up(nq), S):
        m, l, acc = torch.full((b, S), -torch.inf), torch.zeros(b, S), torch.zeros(b, S, e)
        for j in range(0, up(nk), S):
            s = probs(i, j, None)
            new = torch.maximum(m, s.amax(-1))
            z = torch.where(new == -torch.inf, 0.0, new)
            w, p = torch.exp(m - z), torch.exp(s - z[..., None])
            l = torch.einsum("bi,bi->bi", l, w) + torch.einsum("bij->bi", p)
            acc = torch.einsum("bie,bi->bie", acc, w) + torch.einsum(
                "bij,bje->bie", p, V[:, j : j + S]
            )
            m = new
        O[:, i : i + S] = acc / torch.where(l == 0, 1.0, l)[..., None]
        LSE[:, i : i + S] = m + l.log()
    delta = torch.einsum("bie,bie->bi", O, G)
    level = torch.where(LSE == -torch.inf, 0.0, LSE)
    dQ, dK, dV = torch.zeros_like(Q), torch.zeros_like(K), torch.zeros_like(V)
    for i in range(0, up(nq), S):
        Qi, Gi = Q[:, i : i + S], G[:, i : i + S]
        for j in range(0, up(nk), S):
            Kj, Vj = K[:, j : j + S], V[:, j : j + S]
            p = probs(i, j, level[:, i : i + S])
            dp = torch.einsum("bie,bje->bij", Gi, Vj)
            ds = p * (dp - delta[:, i : i + S, None]) / d**0.5
            dQ[:, i : i + S] += torch.einsum("bij,bjd->bid", ds, Kj)
            dK[:, j : j + S] += torch.einsum("bij,bid->bjd", ds, Qi)
            dV[:, j : j + S] += torch.einsum("bij,bje->bie", p, Gi)
    t = q.dtype
    return (O[:, :nq].reshape(do.shape).to(t), LSE[:, :nq].reshape(q.shape[:-1]),
            dQ[:, :nq].reshape(q.shape).to(t), dK[:, :nk].reshape(k.shape).to(t),
            dV[:, :nk].reshape(v.shape).to(t))  # fmt: skip
