"""07.full, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E741, N806, SIM300
import math

import torch

EXERCISE = "07.full"

BUGS = {
    # l and acc are rescaled only if the largest maximum of the whole tile of rows grew; rows
    # whose own maximum grew while the block's did not keep stale l and acc
    "lazy_rescale": {"rescaled-by-largest"},
    # padded keys (zeros past Nk) are not masked without causal: each adds e^(0 - m) to l when Nk
    # is no multiple of 16
    "padded_tiles": {"padding-counted"},
    # the accumulators of dk and dv are not zeroed between heads: every head also gets the sum of
    # the heads before it
    "head_by_head": {"heads-carried"},
}
RIGHT = []


def lazy_rescale(q, k, v, do, causal):
    """Skips the multiplication of l and acc in tiles that do not raise the maximum."""
    shape, nq, nk = q.shape[:-1], q.shape[-2], k.shape[-2]
    qs = [x.float() for x in q.reshape(math.prod(q.shape[:-2]), nq, -1)]
    ks = [x.float() for x in k.reshape(len(qs), nk, q.shape[-1])]
    vs = [x.float() for x in v.reshape(len(qs), nk, v.shape[-1])]
    gs = [x.float() for x in do.reshape(len(qs), nq, v.shape[-1])]
    scale, block = q.shape[-1] ** -0.5, 20
    results = []
    for q1, k1, v1, g1 in zip(qs, ks, vs, gs, strict=True):
        o1, lse1 = torch.zeros(nq, v1.shape[1]), torch.full([nq], -math.inf)
        dq1, dk1, dv1 = torch.zeros(q1.shape), torch.zeros(k1.shape), torch.zeros(v1.shape)

        def score(i, j, q1=q1, k1=k1):
            s = scale * (q1[i : i + block] @ k1[j : j + block].t())
            if causal:
                ahead = (torch.arange(j, j + s.shape[1]) - (nk - nq)) > torch.arange(
                    i, i + s.shape[0]
                )[:, None]
                s[ahead] = -math.inf
            return s

        for i in range(0, nq, block):
            n = min(block, nq - i)
            m, l, acc = torch.full([n], -math.inf), torch.zeros(n), torch.zeros(n, v1.shape[1])
            for j in range(0, nk, block):
                s = score(i, j)
                new = torch.maximum(m, s.amax(1))
                at = new.clone()
                at[at == -math.inf] = 0
                if new.max() > m.max():
                    factor = torch.exp(m - at)
                    l *= factor
                    acc *= factor[:, None]
                p = torch.exp(s - at[:, None])
                l += p.sum(1)
                acc += p @ v1[j : j + block]
                m = new
            seen = l > 0
            o1[i : i + n][seen] = acc[seen] / l[seen, None]
            lse1[i : i + n] = m + l.log()
        delta1 = torch.einsum("nd,nd->n", o1, g1)
        for i in range(0, nq, block):
            level = lse1[i : i + block, None].clone()
            level[level == -math.inf] = 0
            for j in range(0, nk, block):
                p = torch.exp(score(i, j) - level)
                g = g1[i : i + block]
                ds = p * (g @ v1[j : j + block].t() - delta1[i : i + block, None])
                dv1[j : j + block] += p.t() @ g
                dq1[i : i + block] += scale * ds @ k1[j : j + block]
                dk1[j : j + block] += scale * ds.t() @ q1[i : i + block]
        results.append((o1, lse1, dq1, dk1, dv1))
    o, lse, dq, dk, dv = (torch.stack(part) for part in zip(*results, strict=True))
    return (
        o.reshape(do.shape).to(q.dtype),
        lse.reshape(shape),
        dq.reshape(q.shape).to(q.dtype),
        dk.reshape(k.shape).to(q.dtype),
        dv.reshape(v.shape).to(q.dtype),
    )


def padded_tiles(q, k, v, do, causal):
    """Everything padded to whole tiles of 16, as a kernel would see it."""
    T = 16
    nq, d = q.shape[-2:]
    nk, e = v.shape[-2:]
    lead = q.shape[:-2]
    bh = math.prod(lead)

    def blocks(x):
        x = x.float().reshape(bh, x.shape[-2], x.shape[-1])
        x = torch.nn.functional.pad(x, (0, 0, 0, -x.shape[1] % T))
        return x.reshape(bh, x.shape[1] // T, T, x.shape[2])

    Q, K, V, G = blocks(q), blocks(k), blocks(v), blocks(do)
    tm, tn = Q.shape[1], K.shape[1]
    step = torch.arange(T)

    def score(i, j):
        s = Q[:, i] @ K[:, j].mT * d**-0.5
        rows, cols = i * T + step[:, None], j * T + step[None, :]
        if causal:
            s = s.where(cols <= rows + nk - nq, -torch.inf)
        return s

    O, DQ = torch.zeros_like(G), torch.zeros_like(Q)
    DK, DV = torch.zeros_like(K), torch.zeros_like(V)
    LSE = torch.full((bh, tm, T), -torch.inf)
    for i in range(tm):
        m, l, acc = LSE[:, i].clone(), torch.zeros(bh, T), torch.zeros(bh, T, e)
        for j in range(tn):
            s = score(i, j)
            m2 = torch.maximum(m, s.amax(-1))
            z = m2.where(m2 > -torch.inf, 0.0)
            w, p = torch.exp(m - z), torch.exp(s - z[..., None])
            m, l, acc = m2, l * w + p.sum(-1), acc * w[..., None] + p @ V[:, j]
        O[:, i] = acc / l.where(l > 0, 1.0)[..., None]
        LSE[:, i] = m + l.log()
    delta = (O * G).sum(-1)
    ref = LSE.where(LSE > -torch.inf, 0.0)
    for i in range(tm):
        for j in range(tn):
            p = torch.exp(score(i, j) - ref[:, i, :, None])
            ds = p * (G[:, i] @ V[:, j].mT - delta[:, i, :, None]) * d**-0.5
            DV[:, j] += p.mT @ G[:, i]
            DK[:, j] += ds.mT @ Q[:, i]
            DQ[:, i] += ds @ K[:, j]

    def unpad(x, n):
        return x.reshape(bh, -1, x.shape[-1])[:, :n].reshape(*lead, n, -1).to(q.dtype) if n else (
            x.reshape(*lead, 0, x.shape[-1]).to(q.dtype))  # fmt: skip

    lse = LSE.reshape(bh, tm * T)[:, :nq].reshape(*lead, nq)
    return unpad(O, nq), lse, unpad(DQ, nq), unpad(DK, nk), unpad(DV, nk)


def head_by_head(q, k, v, do, causal):
    """A loop over the heads; scratch for dk and dv is allocated once and reused."""
    len_q, width = q.shape[-2:]
    len_k = k.shape[-2]
    heads = math.prod(q.shape[:-2])
    scale = width**-0.5
    o = torch.zeros(do.shape, dtype=q.dtype)
    lse = torch.full(q.shape[:-1], -torch.inf)
    dq, dk, dv = (torch.zeros(x.shape, dtype=q.dtype) for x in (q, k, v))
    q_all, do_all = q.reshape(heads, len_q, -1), do.reshape(heads, len_q, v.shape[-1])
    k_all, v_all = k.reshape(heads, len_k, width), v.reshape(heads, len_k, v.shape[-1])
    o_all, lse_all = o.view(heads, len_q, -1), lse.view(heads, len_q)
    dq_all, dk_all = dq.view(heads, len_q, -1), dk.view(heads, len_k, width)
    dv_all = dv.view(heads, len_k, v.shape[-1])
    dk_sum, dv_sum = torch.zeros(len_k, width), torch.zeros(len_k, v.shape[-1])
    for h in range(heads):
        for i in range(0, len_q, 32):
            rows = slice(i, min(i + 32, len_q))
            n = rows.stop - i
            qi, gi = q_all[h, rows].float() * scale, do_all[h, rows].float()
            limit = torch.arange(i, rows.stop)[:, None] + len_k - len_q
            end = max(0, min(len_k, rows.stop + len_k - len_q)) if causal else len_k
            m, l, acc = torch.full([n], -torch.inf), torch.zeros(n), torch.zeros(n, v.shape[-1])

            def tile(j, qi=qi, limit=limit, h=h):
                kj, vj = k_all[h, j : j + 32].float(), v_all[h, j : j + 32].float()
                s = qi @ kj.T
                if causal:
                    s.masked_fill_(torch.arange(j, j + len(kj)) > limit, -torch.inf)
                return s, kj, vj

            for j in range(0, end, 32):
                s, _, vj = tile(j)
                m_new = torch.maximum(m, s.amax(1))
                pivot = torch.where(m_new.isneginf(), 0.0, m_new)
                p, alpha = torch.exp(s - pivot[:, None]), torch.exp(m - pivot)
                acc = torch.addmm(acc * alpha[:, None], p, vj)
                l = torch.addcmul(p.sum(1), l, alpha)
                m = m_new
            out = acc / torch.where(l == 0, 1.0, l)[:, None]
            o_all[h, rows] = out.to(q.dtype)
            lse_all[h, rows] = m + l.log()
            delta = (out * gi).sum(1)
            pivot = torch.where(l == 0, 0.0, lse_all[h, rows])
            dqi = torch.zeros(n, width)
            for j in range(0, end, 32):
                s, kj, vj = tile(j)
                p = torch.exp(s - pivot[:, None])
                ds = p * (gi @ vj.T - delta[:, None])
                dqi += ds @ kj
                dk_sum[j : j + 32] += ds.T @ qi
                dv_sum[j : j + 32] += p.T @ gi
            dq_all[h, rows] = (dqi * scale).to(q.dtype)
        dk_all[h] = dk_sum.to(q.dtype)
        dv_all[h] = dv_sum.to(q.dtype)
    return o, lse, dq, dk, dv
