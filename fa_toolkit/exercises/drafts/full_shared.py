"""07.full: one helper makes the tiles of both passes; one backward loop, rows outside."""

# mypy: ignore-errors
# ruff: noqa: E501, E741
import torch


# cell
def attention_in_tiles(q, k, v, do, causal, block_m=64, block_n=64):
    scale, kind = q.shape[-1] ** -0.5, q.dtype
    # slip scale-of-v: scale, kind = v.shape[-1] ** -0.5, q.dtype
    # slip scale-of-length: scale, kind = q.shape[-2] ** -0.5, q.dtype
    # slip scale-of-length/keys: scale, kind = k.shape[-2] ** -0.5, q.dtype
    # slip scale-upside-down: scale, kind = q.shape[-1] ** 0.5, q.dtype
    # slip scale-1-over-d: scale, kind = 1 / q.shape[-1], q.dtype
    # slip no-scale: scale, kind = 1.0, q.dtype
    len_q, len_k = q.shape[-2], k.shape[-2]
    offset = len_k - len_q
    # slip top-left: offset = 0
    # slip offset-sign: offset = len_q - len_k
    # slip offset-clamped: offset = max(0, len_k - len_q)
    # slip offset-clamped/size: offset = abs(len_k - len_q)
    # slip own-key-hidden: offset = len_k - len_q - 1
    # slip one-key-too-many: offset = len_k - len_q + 1
    q, k, v, do = q.float(), k.float(), v.float(), do.float()
    # slip first-head: q, k, v, do = (q, *(x[(0,) * (x.dim() - 2)].expand_as(x) for x in (k, v)), do); q, k, v, do = (x.float() for x in (q, k, v, do))
    # slip first-head/values: q, k, v, do = (x.float() for x in (q, k, v[(0,) * (v.dim() - 2)].expand_as(v), do))
    # slip first-head/keys: q, k, v, do = (x.float() for x in (q, k[(0,) * (k.dim() - 2)].expand_as(k), v, do))
    # slip do-of-first-head: q, k, v, do = (x.float() for x in (q, k, v, do[(0,) * (do.dim() - 2)].expand_as(do)))
    # slip do-of-first-row: q, k, v, do = (x.float() for x in (q, k, v, do[..., :1, :].expand_as(do)))
    # slip do-as-ones: q, k, v, do = (x.float() for x in (q, k, v, torch.ones_like(do)))
    # slip strides-assumed: q, k, v, do = (x.float() for x in (q, k, v, torch.as_strided(do.contiguous(), do.shape, do.stride()) if do.is_contiguous() else do.mT.contiguous().reshape(do.shape)))
    o, lse = torch.zeros_like(do), q.new_zeros(q.shape[:-1])
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    # slip zeros-missing: dq, dk, dv = q.clone(), k.clone(), v.clone()
    # slip zeros-missing/ones: dq, dk, dv = torch.ones_like(q), torch.ones_like(k), torch.ones_like(v)

    def tile(i, j):
        at, over = slice(i, min(i + block_m, len_q)), slice(j, min(j + block_n, len_k))
        s = scale * q[..., at, :] @ k[..., over, :].mT
        # slip scale-1-over-d: s = scale * scale * q[..., at, :] @ k[..., over, :].mT
        # slip scores-not-scaled: s = q[..., at, :] @ k[..., over, :].mT
        # slip scores-divided-by-scale: s = q[..., at, :] @ k[..., over, :].mT / scale
        rows = torch.arange(len_q)[at, None] + offset
        # slip mask-within-tile: rows = torch.arange(at.stop - at.start)[:, None] + offset
        # slip mask-within-tile/rows: rows = torch.arange(at.stop - at.start)[:, None] + offset
        # slip start-missing-offset: rows = torch.arange(len_q)[at, None] + (offset if i == 0 else 0)
        keys = torch.arange(len_k)[over]
        # slip mask-within-tile: keys = torch.arange(over.stop - over.start)
        # slip mask-within-tile/cols: keys = torch.arange(over.stop - over.start)
        seen = rows >= keys
        # slip own-key-hidden/compare: seen = rows > keys
        # slip mask-turned: seen = rows <= keys
        # slip mask-turned/own: seen = rows < keys
        # slip own-key-only: seen = rows == keys
        # slip mask-by-tile: seen = (rows // block_m * block_m >= keys // block_n * block_n)
        if causal:
            # slip causal-always: if True:
            # slip mask-on-first-tile-only: if causal and i == j == 0:
            # slip mask-on-diagonal-tile: if causal and i == j:
            # slip mask-on-diagonal-tile/offset: if causal and j <= i + offset < j + block_n:
            # slip mask-on-last-tile: if causal and j + block_n >= len_k:
            s = s.masked_fill(~seen, -torch.inf)
            # slip masked-to-zero: s = s.masked_fill(~seen, 0.0)
            # slip mask-is-plus-inf: s = s.masked_fill(~seen, torch.inf)
            # slip finite-mask/100: s = s.masked_fill(~seen, -100.0)
            # slip finite-mask/thousand: s = s.masked_fill(~seen, -1000.0)
        return s, at, over

    for i in range(0, len_q, block_m):
        # slip forward.tail-queries: for i in range(0, len_q - block_m + 1, block_m):
        # slip forward.last-queries: for i in range(0, len_q - block_m, block_m):
        # slip forward.first-queries: for i in range(block_m, len_q, block_m):
        # slip forward.queries-to-nk: for i in range(0, len_k, block_m):
        # slip forward.half-the-queries: for i in range(0, len_q, 2 * block_m):
        m = q.new_full((*q.shape[:-2], min(block_m, len_q - i), 1), -torch.inf)
        # slip starts-at-zero: m = q.new_zeros((*q.shape[:-2], min(block_m, len_q - i), 1))
        l = torch.zeros_like(m)
        acc = torch.zeros_like(o[..., i : i + block_m, :])
        for j in range(0, len_k, block_n):
            # slip forward.tail-keys: for j in range(0, len_k - block_n + 1, block_n):
            # slip forward.last-keys: for j in range(0, len_k - block_n, block_n):
            # slip forward.first-keys: for j in range(block_n, len_k, block_n):
            # slip forward.keys-to-nq: for j in range(0, len_q, block_n):
            # slip forward.stop-without-offset: for j in range(0, min(len_k, i + block_m) if causal else len_k, block_n):
            # slip forward.stop-at-first-row: for j in range(0, max(0, min(len_k, i + offset + 1)) if causal else len_k, block_n):
            # slip forward.stop-at-first-row/minus: for j in range(0, max(0, min(len_k, i + offset)) if causal else len_k, block_n):
            # slip forward.stop-sign: for j in range(0, max(0, min(len_k, i + block_m - offset)) if causal else len_k, block_n):
            # slip forward.half-the-keys: for j in range(0, len_k, 2 * block_n):
            # slip forward.only-first-keys: for j in range(0, min(block_n, len_k), block_n):
            s, at, over = tile(i, j)
            # slip forward.keys-of-first-tile: s, at, over = tile(i, 0)
            # slip forward.same-keys: s, at, over = (tile(i, 0)[0], *tile(i, j)[1:])
            m_new = torch.maximum(m, s.amax(-1, keepdim=True))
            # slip block-maximum: m_new = s.amax(-1, keepdim=True)
            # slip one-maximum: m_new = torch.maximum(m, s.amax((-2, -1), keepdim=True))
            # slip one-maximum/all: m_new = torch.maximum(m, s.amax())
            # slip minimum: m_new = torch.minimum(m, s.amax(-1, keepdim=True)) if j else s.amax(-1, keepdim=True)
            # slip minimum/of-tile: m_new = torch.maximum(m, s.amin(-1, keepdim=True))
            # slip first-maximum-kept: m_new = s.amax(-1, keepdim=True) if j == 0 else m
            pivot = m_new.masked_fill(m_new == -torch.inf, 0.0)
            # slip dead-rows-nan/pivot: pivot = m_new
            alpha = (m - pivot).exp()
            # slip inverse-factor: alpha = (pivot - m).exp()
            # slip inverse-factor/guarded: alpha = torch.where(m == -torch.inf, 0.0, (pivot - m).exp())
            # slip alpha-in-base-2: alpha = (m - pivot).exp2()
            # slip forward-in-base-2: alpha = (m - pivot).exp2()
            # slip alpha-without-exp: alpha = torch.where(m == -torch.inf, 0.0, m - pivot)
            # slip alpha-of-tile: alpha = (m - s.amax(-1, keepdim=True)).exp()
            # slip rescaled-by-largest/heads: alpha = (m - pivot).exp() if m_new.max() > m.max() else torch.ones_like(m)
            # slip nothing-rescaled/alpha: alpha = torch.ones_like(m)
            p = (s - pivot).exp()
            # slip old-maximum: p = (s - m.masked_fill(m == -torch.inf, 0.0)).exp()
            # slip old-maximum/first: p = (s - torch.where(m == -torch.inf, pivot, m)).exp()
            # slip old-maximum/raw: p = (s - m).exp()
            # slip tile-maximum: p = (s - s.amax(-1, keepdim=True).masked_fill(s.amax(-1, keepdim=True) == -torch.inf, 0.0)).exp()
            # slip p-in-base-2: p = (s - pivot).exp2()
            # slip forward-in-base-2: p = (s - pivot).exp2()
            # slip forward-no-pivot: p = s.exp()
            # slip p-rounded: p = (s - pivot).exp().half().float()
            # slip p-rounded/brain: p = (s - pivot).exp().bfloat16().float()
            l = l * alpha + p.sum(-1, keepdim=True)
            # slip l-not-rescaled: l = l + p.sum(-1, keepdim=True)
            # slip factor-on-the-sum/l: l = (l + p.sum(-1, keepdim=True)) * alpha
            # slip factor-on-the-sum/both: l = (l + p.sum(-1, keepdim=True)) * alpha
            # slip new-terms-rescaled: l = l + alpha * p.sum(-1, keepdim=True)
            # slip new-terms-rescaled/both: l = l + alpha * p.sum(-1, keepdim=True)
            # slip l-overwritten: l = p.sum(-1, keepdim=True)
            # slip l-of-maximum: l = l * alpha + p.amax(-1, keepdim=True)
            # slip l-mean: l = l * alpha + p.mean(-1, keepdim=True)
            # slip rescaled-twice/l: l = l * alpha * alpha + p.sum(-1, keepdim=True)
            # slip rescaled-twice/both: l = l * alpha * alpha + p.sum(-1, keepdim=True)
            # slip rescaled-inversely/l: l = l / alpha.clamp(min=1e-30) + p.sum(-1, keepdim=True)
            # slip rescaled-inversely/both: l = l / alpha.clamp(min=1e-30) + p.sum(-1, keepdim=True)
            # slip l-over-rows: l = l * alpha + p.sum((-2, -1), keepdim=True)
            # slip sums-in-half: l = (l * alpha + p.sum(-1, keepdim=True)).to(kind).float()
            acc = acc * alpha + p @ v[..., over, :]
            # slip acc-not-rescaled: acc = acc + p @ v[..., over, :]
            # slip factor-on-the-sum/acc: acc = (acc + p @ v[..., over, :]) * alpha
            # slip factor-on-the-sum/both: acc = (acc + p @ v[..., over, :]) * alpha
            # slip new-terms-rescaled/acc: acc = acc + alpha * (p @ v[..., over, :])
            # slip new-terms-rescaled/both: acc = acc + alpha * (p @ v[..., over, :])
            # slip o-overwritten: acc = p @ v[..., over, :]
            # slip normalised-each-step/twice: acc = (acc * alpha + p @ v[..., over, :]) / l.masked_fill(l == 0, 1.0)
            # slip tile-normalised: acc = acc * alpha + p @ v[..., over, :] / p.sum(-1, keepdim=True).clamp(min=1e-30)
            # slip rescaled-twice/acc: acc = acc * alpha * alpha + p @ v[..., over, :]
            # slip rescaled-twice/both: acc = acc * alpha * alpha + p @ v[..., over, :]
            # slip rescaled-inversely/acc: acc = acc / alpha.clamp(min=1e-30) + p @ v[..., over, :]
            # slip rescaled-inversely/both: acc = acc / alpha.clamp(min=1e-30) + p @ v[..., over, :]
            # slip same-values: acc = acc * alpha + p @ v[..., : over.stop - over.start, :]
            # slip sums-in-half: acc = (acc * alpha + p @ v[..., over, :]).to(kind).float()
            # slip sums-in-half/acc: acc = (acc * alpha + p @ v[..., over, :]).to(kind).float()
            # slip acc-scaled: acc = acc * alpha + scale * (p @ v[..., over, :])
            # slip o-from-scores: acc = acc * alpha + s.masked_fill(s == -torch.inf, 0.0) @ v[..., over, :]
            m = m_new
            # slip last-tile-alone: pass
        o[..., at, :] = acc / l.masked_fill(l == 0, 1.0)
        # slip dead-rows-nan/divided: o[..., at, :] = acc / l
        # slip not-normalised: o[..., at, :] = acc
        # slip normalised-twice: o[..., at, :] = acc / l.masked_fill(l == 0, 1.0) ** 2
        # slip multiplied-by-l: o[..., at, :] = acc * l
        # slip divided-by-last-sum: o[..., at, :] = acc / p.sum(-1, keepdim=True).clamp(min=1e-30)
        # slip divided-by-m: o[..., at, :] = acc / m
        # slip divided-by-lse: o[..., at, :] = acc / (m + l.log())
        # slip softened-division: o[..., at, :] = acc / (l + 1e-3)
        # slip softened-division/small: o[..., at, :] = acc / (l + 1e-5)
        # slip softened-division/one: o[..., at, :] = acc / (l + 1.0)
        # slip not-normalised/added: o[..., at, :] += acc; o[..., :1, :] += 0 * acc[..., :1, :]
        # slip o-in-first-tile: o[..., : at.stop - at.start, :] = acc / l.masked_fill(l == 0, 1.0)
        lse[..., at] = (m + l.log()).squeeze(-1)
        # slip lse-no-maximum: lse[..., at] = l.log().squeeze(-1)
        # slip lse-is-l: lse[..., at] = l.squeeze(-1)
        # slip lse-dead-zero/masked: lse[..., at] = (pivot + l.masked_fill(l == 0, 1.0).log()).squeeze(-1)
        # slip lse-base-2/first: lse[..., at] = (m + l.log2()).squeeze(-1)
        # slip lse-product: lse[..., at] = (m * l.log()).squeeze(-1)
        # slip lse-shifted: lse[..., at] = (m + (l + 1).log()).squeeze(-1)
        # slip lse-scaled: lse[..., at] = (scale * m + l.log()).squeeze(-1)
        # slip lse-of-old-maximum: lse[..., at] = (s.amax(-1, keepdim=True) + l.log()).squeeze(-1)
        # slip lse-sign/wrong-saved: lse[..., at] = (m - l.log()).squeeze(-1)
        # slip lse-not-written: pass

    delta = (do * o).sum(-1, keepdim=True)
    # slip delta-scaled: delta = scale * (do * o).sum(-1, keepdim=True)
    # slip delta-scaled/inverse: delta = (do * o).sum(-1, keepdim=True) / scale
    # slip delta-twice: delta = 2 * (do * o).sum(-1, keepdim=True)
    # slip delta-sum-of-o: delta = o.sum(-1, keepdim=True)
    # slip delta-sum-of-do: delta = do.sum(-1, keepdim=True)
    # slip delta-normalised-again: delta = (do * o).sum(-1, keepdim=True) / lse.exp()[..., None].clamp(min=1e-30)
    final = lse.masked_fill(lse == -torch.inf, 0.0)[..., None]
    # slip dead-rows-nan/lse: final = lse[..., None]
    for i in range(0, len_q, block_m):
        # slip backward-tail-queries: for i in range(0, len_q - block_m + 1, block_m):
        # slip backward.last-queries: for i in range(0, len_q - block_m, block_m):
        # slip backward.first-queries: for i in range(block_m, len_q, block_m):
        # slip backward.half-the-queries: for i in range(0, len_q, 2 * block_m):
        for j in range(0, len_k, block_n):
            # slip backward-tail-keys: for j in range(0, len_k - block_n + 1, block_n):
            # slip backward.last-keys: for j in range(0, len_k - block_n, block_n):
            # slip backward.first-keys: for j in range(block_n, len_k, block_n):
            # slip backward.bound-without-offset/keys: for j in range(0, min(len_k, i + block_m) if causal else len_k, block_n):
            # slip backward-first-tile-skipped/keys: for j in range(0, max(0, min(len_k, i + offset + 1)) if causal else len_k, block_n):
            # slip backward-first-tile-skipped/minus: for j in range(0, max(0, min(len_k, i + offset)) if causal else len_k, block_n):
            # slip backward.half-the-keys: for j in range(0, len_k, 2 * block_n):
            # slip backward.only-first-keys: for j in range(0, min(block_n, len_k), block_n):
            s, at, over = tile(i, j)
            p = (s - final[..., at, :]).exp()
            # slip lse-added: p = (s + final[..., at, :]).exp()
            # slip p-without-lse: p = s.exp()
            # slip backward-exp2: p = (s - final[..., at, :]).exp2()
            # slip p-normalised-twice: p = (s - 2 * final[..., at, :]).exp()
            # slip p-by-tile: p = torch.nan_to_num((s - s.logsumexp(-1, keepdim=True)).exp())
            # slip p-by-tile-maximum: p = torch.nan_to_num((s - s.amax(-1, keepdim=True)).exp())
            # slip lse-of-first-rows: p = (s - final[..., : at.stop - at.start, :]).exp()
            # slip lse-as-denominator: p = torch.nan_to_num(s.exp() / final[..., at, :])
            # slip recompute-scaled-twice: p = (s * scale - final[..., at, :]).exp()
            dp = do[..., at, :] @ v[..., over, :].mT
            # slip dp-from-o: dp = o[..., at, :] @ v[..., over, :].mT
            # slip dp-from-k: dp = do[..., at, :] @ k[..., over, :].mT
            # slip dp-from-q: dp = q[..., at, :] @ v[..., over, :].mT
            # slip dp-scaled: dp = scale * do[..., at, :] @ v[..., over, :].mT
            # slip dp-same-values: dp = do[..., at, :] @ v[..., : over.stop - over.start, :].mT
            # slip dp-same-rows: dp = do[..., : at.stop - at.start, :] @ v[..., over, :].mT
            # slip dp-times-p: dp = p * (do[..., at, :] @ v[..., over, :].mT)
            ds = p * (dp - delta[..., at, :])
            # slip ds-sign: ds = p * (delta[..., at, :] - dp)
            # slip p-squared: ds = p * p * (dp - delta[..., at, :])
            # slip delta-weighted: ds = p * (dp - p * delta[..., at, :])
            # slip delta-of-first-rows: ds = p * (dp - delta[..., : at.stop - at.start, :])
            # slip delta-per-tile: ds = p * (dp - (p * dp).sum(-1, keepdim=True))
            # slip delta-unnormalised-tile: ds = p * (dp - dp.sum(-1, keepdim=True))
            # slip delta-per-tile/mean: ds = p * (dp - dp.mean(-1, keepdim=True))
            # slip delta-sign: ds = p * (dp + delta[..., at, :])
            # slip jacobian-diagonal/tile: ds = p * (1 - p) * (dp - delta[..., at, :])
            # slip ds-rounded: ds = (p * (dp - delta[..., at, :])).half().float()
            # slip ds-rounded/brain: ds = (p * (dp - delta[..., at, :])).bfloat16().float()
            ds = scale * ds
            # slip gradients-not-scaled: pass
            # slip gradients-scaled-twice: ds = scale * scale * ds
            # slip gradients-divided-by-scale: ds = ds / scale
            # slip gradients-scaled-twice/width: ds = ds / q.shape[-1]
            dv[..., over, :] += p.mT @ do[..., at, :]
            # slip dv-overwritten: dv[..., over, :] = p.mT @ do[..., at, :]
            # slip dv-subtracted: dv[..., over, :] -= p.mT @ do[..., at, :]
            # slip dv-from-o: dv[..., over, :] += p.mT @ o[..., at, :]
            # slip dv-from-v: dv[..., over, :] += p.mT @ v[..., at, :]
            # slip dv-from-dp: dv[..., over, :] += dp.mT @ do[..., at, :]
            # slip dv-from-scores: dv[..., over, :] += s.masked_fill(s == -torch.inf, 0.0).mT @ do[..., at, :]
            # slip dv-same-rows: dv[..., over, :] += p.mT @ do[..., : at.stop - at.start, :]
            # slip dv-in-first-tile: dv[..., : over.stop - over.start, :] += p.mT @ do[..., at, :]
            # slip dv-divided: dv[..., over, :] += p.mT @ do[..., at, :] / scale
            # slip dv-normalised-again: dv[..., over, :] += p.mT @ (do[..., at, :] / final[..., at, :].exp())
            # slip dv-not-written: pass
            # slip dv-rounded: dv[..., over, :] += p.half().float().mT @ do[..., at, :]
            # slip dv-rounded/brain: dv[..., over, :] += p.bfloat16().float().mT @ do[..., at, :]
            # slip gradients-summed-in-half: dv[..., over, :] = (dv[..., over, :] + p.mT @ do[..., at, :]).to(kind).float()
            dk[..., over, :] += ds.mT @ q[..., at, :]
            # slip dk-overwritten: dk[..., over, :] = ds.mT @ q[..., at, :]
            # slip dk-subtracted: dk[..., over, :] -= ds.mT @ q[..., at, :]
            # slip dk-from-p: dk[..., over, :] += scale * p.mT @ q[..., at, :]
            # slip dk-from-p/bare: dk[..., over, :] += p.mT @ q[..., at, :]
            # slip dk-from-dp: dk[..., over, :] += scale * dp.mT @ q[..., at, :]
            # slip dk-from-dp/bare: dk[..., over, :] += dp.mT @ q[..., at, :]
            # slip dk-from-k: dk[..., over, :] += ds.mT @ k[..., at, :]
            # slip dk-from-k/square: dk[..., over, :] += ds.mT @ k[..., over, :]
            # slip dk-from-do: dk[..., over, :] += ds.mT @ do[..., at, :]
            # slip dk-same-rows: dk[..., over, :] += ds.mT @ q[..., : at.stop - at.start, :]
            # slip dk-in-first-tile: dk[..., : over.stop - over.start, :] += ds.mT @ q[..., at, :]
            # slip dk-divided-by-scale: dk[..., over, :] += ds.mT @ q[..., at, :] / scale ** 2
            # slip dk-scaled-twice: dk[..., over, :] += scale * ds.mT @ q[..., at, :]
            # slip dk-not-scaled: dk[..., over, :] += ds.mT @ q[..., at, :] / scale
            # slip dk-scaled-twice/width: dk[..., over, :] += ds.mT @ q[..., at, :] * scale
            # slip dk-not-written: pass
            # slip gradients-summed-in-half: dk[..., over, :] = (dk[..., over, :] + ds.mT @ q[..., at, :]).to(kind).float()
            dq[..., at, :] += ds @ k[..., over, :]
            # slip dq-overwritten: dq[..., at, :] = ds @ k[..., over, :]
            # slip dq-subtracted: dq[..., at, :] -= ds @ k[..., over, :]
            # slip dq-from-p: dq[..., at, :] += scale * p @ k[..., over, :]
            # slip dq-from-p/bare: dq[..., at, :] += p @ k[..., over, :]
            # slip dq-from-dp: dq[..., at, :] += scale * dp @ k[..., over, :]
            # slip dq-from-dp/bare: dq[..., at, :] += dp @ k[..., over, :]
            # slip dq-from-q: dq[..., at, :] += ds @ q[..., over, :]
            # slip dq-from-q/square: dq[..., at, :] += ds @ q[..., at, :]
            # slip dq-from-v: dq[..., at, :] += ds @ v[..., over, :]
            # slip dq-same-keys: dq[..., at, :] += ds @ k[..., : over.stop - over.start, :]
            # slip dq-in-first-tile: dq[..., : at.stop - at.start, :] += ds @ k[..., over, :]
            # slip dq-scaled-twice: dq[..., at, :] += scale * ds @ k[..., over, :]
            # slip dq-not-scaled: dq[..., at, :] += ds @ k[..., over, :] / scale
            # slip dq-divided-by-scale: dq[..., at, :] += ds @ k[..., over, :] / scale ** 2
            # slip dq-transposed: dq[..., at, :] += ds.mT @ k[..., over, :]
            # slip dq-not-written: pass
            # slip gradients-summed-in-half: dq[..., at, :] = (dq[..., at, :] + ds @ k[..., over, :]).to(kind).float()
    return o.to(kind), lse, dq.to(kind), dk.to(kind), dv.to(kind)
    # slip dq-and-dk-swapped: return o.to(kind), lse, dk.to(kind), dq.to(kind), dv.to(kind)
    # slip dk-and-dv-swapped: return o.to(kind), lse, dq.to(kind), dv.to(kind), dk.to(kind)
    # slip dq-and-dv-swapped: return o.to(kind), lse, dv.to(kind), dk.to(kind), dq.to(kind)
    # slip gradients-turned-round: return o.to(kind), lse, dv.to(kind), dq.to(kind), dk.to(kind)
    # slip results-in-float32: return o, lse, dq, dk, dv
    # slip lse-in-half: return o.to(kind), lse.to(kind), dq.to(kind), dk.to(kind), dv.to(kind)
    # slip lse-in-half/rounded: return o.to(kind), lse.to(kind).float(), dq.to(kind), dk.to(kind), dv.to(kind)
