"""07.full: base 2 with the scale in q, masks as addends, one backward loop for dK and dV, one for dQ."""

# mypy: ignore-errors
# ruff: noqa: E501, E741
import math

import torch


# cell
def attention_in_tiles(q, k, v, do, causal, block_m=64, block_n=64):
    kind, len_q, len_k = q.dtype, q.shape[-2], k.shape[-2]
    scale = q.shape[-1] ** -0.5
    log2_e = 1 / math.log(2)
    # slip lse-base-mixed: log2_e = math.log(2)
    # slip forward-in-base-2: log2_e = 1.0
    q, k, v, do = (x.float() for x in (q, k, v, do))
    q_scaled = q * (scale * log2_e)
    # slip scores-not-scaled: q_scaled = q * log2_e
    # slip forward-in-base-2/lse: q_scaled = q * scale

    def hidden(i, j, rows, keys):
        position = torch.arange(i, i + rows)[:, None] + len_k - len_q
        addend = torch.zeros(rows, keys)
        if causal:
            addend[torch.arange(j, j + keys) > position] = -torch.inf
            # slip finite-mask/ten: addend[torch.arange(j, j + keys) > position] = -10.0
            # slip finite-mask/four: addend[torch.arange(j, j + keys) > position] = -1e4
        return addend

    o = torch.zeros_like(do)
    lse2 = q.new_zeros(q.shape[:-1])
    for i in range(0, len_q, block_m):
        at = slice(i, min(i + block_m, len_q))
        m = q.new_full((*q.shape[:-2], at.stop - i), -torch.inf)
        l, acc = torch.zeros_like(m), torch.zeros_like(o[..., at, :])
        for j in range(0, len_k, block_n):
            over = slice(j, min(j + block_n, len_k))
            s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i, j, at.stop - i, over.stop - j)
            # slip forward.causal-ignored: s = q_scaled[..., at, :] @ k[..., over, :].mT
            # slip mask-multiplied: s = (q_scaled[..., at, :] @ k[..., over, :].mT) * (hidden(i, j, at.stop - i, over.stop - j) == 0)
            # slip mask-after-scores: s = q_scaled[..., at, :] @ k[..., over, :].mT; s = s - hidden(i, j, at.stop - i, over.stop - j)
            m_new = torch.maximum(m, s.amax(-1))
            safe = torch.where(m_new.isinf(), 0.0, m_new)
            alpha = torch.exp2(m - safe)
            # slip alpha-in-base-2: alpha = torch.exp(m - safe)
            p = torch.exp2(s - safe[..., None])
            # slip p-in-base-2: p = torch.exp(s - safe[..., None])
            # slip mask-after-exp: p = torch.exp2(q_scaled[..., at, :] @ k[..., over, :].mT - safe[..., None])
            # slip mask-after-sum: p = torch.exp2(q_scaled[..., at, :] @ k[..., over, :].mT - safe[..., None])
            l = alpha * l + p.sum(-1)
            acc = alpha[..., None] * acc + p @ v[..., over, :]
            # slip mask-after-sum: acc = alpha[..., None] * acc + (p * (s > -torch.inf)) @ v[..., over, :]
            # slip acc-divided: acc = alpha[..., None] * acc + (p / l[..., None].clamp(min=1e-30)) @ v[..., over, :]
            m = m_new
        o[..., at, :] = acc / torch.where(l > 0, l, 1.0)[..., None]
        lse2[..., at] = m + torch.log2(l)
        # slip lse-base-mixed/log: lse2[..., at] = m + torch.log(l)
        # slip lse-base-2/half: lse2[..., at] = m + torch.log(l)
        # slip lse-no-maximum: lse2[..., at] = torch.log2(l)
    delta = (o * do).sum(-1)
    # slip delta-mean: delta = (o * do).mean(-1)
    final = torch.where(lse2.isinf(), 0.0, lse2)[..., None]
    # slip lse-base-mixed/read: final = torch.where(lse2.isinf(), 0.0, lse2 / log2_e)[..., None]
    # slip lse-base-mixed/twice: final = torch.where(lse2.isinf(), 0.0, lse2 * log2_e)[..., None]
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for j in range(0, len_k, block_n):
        # slip dkdv.tail-keys: for j in range(0, len_k - block_n + 1, block_n):
        # slip dkdv.last-keys: for j in range(0, len_k - block_n, block_n):
        # slip dkdv.first-keys: for j in range(block_n, len_k, block_n):
        over = slice(j, min(j + block_n, len_k))
        for i in range(0, len_q, block_m):
            # slip dkdv.tail-queries: for i in range(0, len_q - block_m + 1, block_m):
            # slip dkdv.last-queries: for i in range(0, len_q - block_m, block_m):
            # slip dkdv.first-queries: for i in range(block_m, len_q, block_m):
            # slip dkdv.start-without-offset: for i in range(j // block_m * block_m if causal else 0, len_q, block_m):
            # slip dkdv.start-at-diagonal: for i in range((max(0, j + len_q - len_k) // block_m + 1) * block_m if causal else 0, len_q, block_m):
            # slip dkdv.start-at-diagonal/end: for i in range(max(0, j + block_n + len_q - len_k) // block_m * block_m if causal else 0, len_q, block_m):
            # slip dkdv.start-sign: for i in range(max(0, j + len_k - len_q) // block_m * block_m if causal else 0, len_q, block_m):
            at = slice(i, min(i + block_m, len_q))
            s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i, j, at.stop - i, over.stop - j)
            # slip dkdv.causal-ignored: s = q_scaled[..., at, :] @ k[..., over, :].mT
            # slip dkdv.mask-added-twice: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i, j, at.stop - i, over.stop - j).mT if block_m == block_n and at.stop - i == over.stop - j else q_scaled[..., at, :] @ k[..., over, :].mT
            # slip dkdv.top-left: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i + len_q - len_k, j, at.stop - i, over.stop - j)
            # slip dkdv.own-key-hidden: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i - 1, j, at.stop - i, over.stop - j)
            # slip dkdv.one-key-too-many: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i + 1, j, at.stop - i, over.stop - j)
            # slip dkdv.offset-sign: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i + 2 * len_q - 2 * len_k, j, at.stop - i, over.stop - j)
            # slip dkdv.mask-within-tile: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(0, j, at.stop - i, over.stop - j)
            # slip dkdv.mask-within-tile/cols: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i, 0, at.stop - i, over.stop - j)
            # slip dkdv.recompute-no-scale: s = log2_e * q[..., at, :] @ k[..., over, :].mT + hidden(i, j, at.stop - i, over.stop - j)
            p = torch.exp2(s - final[..., at, :])
            # slip dkdv.lse-base-mixed: p = torch.exp(s - final[..., at, :])
            # slip dkdv.p-without-lse: p = torch.exp2(s)
            # slip dkdv.lse-added: p = torch.exp2(s + final[..., at, :])
            ds = p * (do[..., at, :] @ v[..., over, :].mT - delta[..., at, None])
            # slip dkdv.no-delta: ds = p * (do[..., at, :] @ v[..., over, :].mT)
            # slip dkdv.delta-sign: ds = p * (do[..., at, :] @ v[..., over, :].mT + delta[..., at, None])
            # slip dkdv.ds-without-p: ds = (p > 0) * (do[..., at, :] @ v[..., over, :].mT - delta[..., at, None])
            # slip dkdv.delta-outside: ds = p * (do[..., at, :] @ v[..., over, :].mT) - delta[..., at, None]
            # slip dk-subtracted/sign: ds = p * (delta[..., at, None] - do[..., at, :] @ v[..., over, :].mT)
            # slip dkdv.delta-per-tile: dp = do[..., at, :] @ v[..., over, :].mT; ds = p * (dp - (p * dp).sum(-1, keepdim=True))
            # slip dkdv.dp-from-o: ds = p * (o[..., at, :] @ v[..., over, :].mT - delta[..., at, None])
            # slip dkdv.jacobian-diagonal: ds = p * (1 - p) * (do[..., at, :] @ v[..., over, :].mT)
            dv[..., over, :] += p.mT @ do[..., at, :]
            # slip dkdv-overwritten: dv[..., over, :] = p.mT @ do[..., at, :]
            dk[..., over, :] += scale * ds.mT @ q[..., at, :]
            # slip dk-base-2-factor: dk[..., over, :] += ds.mT @ q_scaled[..., at, :]
            # slip dk-scaled-twice/prescaled: dk[..., over, :] += scale * ds.mT @ q_scaled[..., at, :] / log2_e
            # slip dk-base-2-factor/twice: dk[..., over, :] += scale * ds.mT @ q_scaled[..., at, :]
            # slip dk-base-2-factor/scale: dk[..., over, :] += scale * log2_e * ds.mT @ q[..., at, :]
            # slip dk-base-2-factor/inverse: dk[..., over, :] += scale / log2_e * ds.mT @ q[..., at, :]
            # slip dkdv-overwritten: dk[..., over, :] = scale * ds.mT @ q[..., at, :]
    for i in range(0, len_q, block_m):
        # slip dq.tail-queries: for i in range(0, len_q - block_m + 1, block_m):
        # slip dq.last-queries: for i in range(0, len_q - block_m, block_m):
        # slip dq.first-queries: for i in range(block_m, len_q, block_m):
        at = slice(i, min(i + block_m, len_q))
        total = torch.zeros_like(dq[..., at, :])
        # slip sum-not-reset/q: total = torch.zeros_like(dq[..., at, :]) if i == 0 else total[..., : at.stop - i, :]
        for j in range(0, len_k, block_n):
            # slip dq.tail-keys: for j in range(0, len_k - block_n + 1, block_n):
            # slip dq.last-keys: for j in range(0, len_k - block_n, block_n):
            # slip dq.first-keys: for j in range(block_n, len_k, block_n):
            # slip dq.stop-without-offset: for j in range(0, min(len_k, at.stop) if causal else len_k, block_n):
            # slip dq.stop-at-first-row: for j in range(0, min(len_k, max(0, i + len_k - len_q + 1)) if causal else len_k, block_n):
            # slip dq.stop-at-first-row/diagonal: for j in range(0, min(len_k, max(0, i + len_k - len_q)) if causal else len_k, block_n):
            # slip dq.stop-sign: for j in range(0, min(len_k, max(0, at.stop - len_k + len_q)) if causal else len_k, block_n):
            over = slice(j, min(j + block_n, len_k))
            s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i, j, at.stop - i, over.stop - j)
            # slip dq.causal-ignored: s = q_scaled[..., at, :] @ k[..., over, :].mT
            # slip dq.top-left: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i + len_q - len_k, j, at.stop - i, over.stop - j)
            # slip dq.own-key-hidden: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i - 1, j, at.stop - i, over.stop - j)
            # slip dq.one-key-too-many: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i + 1, j, at.stop - i, over.stop - j)
            # slip dq.offset-sign: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i + 2 * len_q - 2 * len_k, j, at.stop - i, over.stop - j)
            # slip dq.mask-within-tile: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(0, j, at.stop - i, over.stop - j)
            # slip dq.mask-within-tile/cols: s = q_scaled[..., at, :] @ k[..., over, :].mT + hidden(i, 0, at.stop - i, over.stop - j)
            # slip dq.recompute-no-scale: s = log2_e * q[..., at, :] @ k[..., over, :].mT + hidden(i, j, at.stop - i, over.stop - j)
            p = torch.exp2(s - final[..., at, :])
            # slip dq.lse-base-mixed: p = torch.exp(s - final[..., at, :])
            # slip dq.p-without-lse: p = torch.exp2(s)
            # slip dq.lse-added: p = torch.exp2(s + final[..., at, :])
            ds = p * (do[..., at, :] @ v[..., over, :].mT - delta[..., at, None])
            # slip dq.no-delta: ds = p * (do[..., at, :] @ v[..., over, :].mT)
            # slip dq.delta-sign: ds = p * (do[..., at, :] @ v[..., over, :].mT + delta[..., at, None])
            # slip dq.ds-without-p: ds = (p > 0) * (do[..., at, :] @ v[..., over, :].mT - delta[..., at, None])
            # slip dq.delta-outside: ds = p * (do[..., at, :] @ v[..., over, :].mT) - delta[..., at, None]
            # slip dq-subtracted/sign: ds = p * (delta[..., at, None] - do[..., at, :] @ v[..., over, :].mT)
            # slip dq.delta-per-tile: dp = do[..., at, :] @ v[..., over, :].mT; ds = p * (dp - (p * dp).sum(-1, keepdim=True))
            # slip dq.dp-from-o: ds = p * (o[..., at, :] @ v[..., over, :].mT - delta[..., at, None])
            # slip dq.jacobian-diagonal: ds = p * (1 - p) * (do[..., at, :] @ v[..., over, :].mT)
            total += ds @ k[..., over, :]
            # slip dq-overwritten: total = ds @ k[..., over, :]
        dq[..., at, :] = scale * total
        # slip dq-not-scaled: dq[..., at, :] = total
        # slip dq-scaled-again: dq[..., at, :] = total; dq *= scale
        # slip dq-base-2-factor: dq[..., at, :] = scale * log2_e * total
        # slip dq-base-2-factor/inverse: dq[..., at, :] = scale / log2_e * total
        # slip dq-divided-by-scale: dq[..., at, :] = total / scale
    return o.to(kind), lse2 / log2_e, dq.to(kind), dk.to(kind), dv.to(kind)
    # slip lse-base-2: return o.to(kind), lse2, dq.to(kind), dk.to(kind), dv.to(kind)
    # slip lse-base-2/inverse: return o.to(kind), lse2 * log2_e, dq.to(kind), dk.to(kind), dv.to(kind)
    # slip lse-base-2/half: return o.to(kind), lse2, dq.to(kind), dk.to(kind), dv.to(kind)
