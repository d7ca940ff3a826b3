"""07.full: heads flattened and taken one by one; keys outside in backward, with bounds of the loops."""

# mypy: ignore-errors
# ruff: noqa: E501, E741
import torch


# cell
def attention_in_tiles(q, k, v, do, causal, block_m=64, block_n=64):
    lead, kind = q.shape[:-2], q.dtype
    (len_q, d), (len_k, d_v) = q.shape[-2:], v.shape[-2:]
    offset, scale = len_k - len_q, d**-0.5
    # slip scale-of-v: offset, scale = len_k - len_q, d_v**-0.5
    # slip no-scale: offset, scale = len_k - len_q, 1.0
    heads_q = q.float().reshape(-1, len_q, d)
    heads_k = k.float().reshape(-1, len_k, d)
    heads_v = v.float().reshape(-1, len_k, d_v)
    heads_do = do.float().reshape(-1, len_q, d_v)
    heads = len(heads_q)
    # slip written-to-a-copy: heads, kept = len(heads_q), [(w := torch.zeros_like(x)).reshape(-1, *x.shape[-2:]).data_ptr() == w.data_ptr() for x in (q, k, v)]
    # slip first-head-only: heads = 1
    # slip last-head-dropped: heads = max(1, len(heads_q) - 1)
    # slip first-batch-only: heads = lead[-1] if lead else 1
    # slip first-axis-only: heads = lead[0] if lead else 1
    o, lse = torch.zeros_like(heads_do), heads_q.new_zeros(len(heads_q), len_q)
    dq, dk, dv = (torch.zeros_like(x) for x in (heads_q, heads_k, heads_v))
    for h in range(heads):
        q, k, v, do = heads_q[h], heads_k[h], heads_v[h], heads_do[h]
        # slip first-head: q, k, v, do = heads_q[h], heads_k[0], heads_v[0], heads_do[h]
        # slip first-head/keys: q, k, v, do = heads_q[h], heads_k[0], heads_v[h], heads_do[h]
        # slip first-head/values: q, k, v, do = heads_q[h], heads_k[h], heads_v[0], heads_do[h]
        # slip query-of-first-head: q, k, v, do = heads_q[0], heads_k[h], heads_v[h], heads_do[h]
        # slip do-of-first-head: q, k, v, do = heads_q[h], heads_k[h], heads_v[h], heads_do[0]
        for i in range(0, len_q, block_m):
            rows = slice(i, min(i + block_m, len_q))
            size = rows.stop - i
            m, l, acc = q.new_full([size], -torch.inf), q.new_zeros(size), q.new_zeros(size, d_v)
            # slip starts-at-zero: m, l, acc = q.new_zeros(size), q.new_zeros(size), q.new_zeros(size, d_v)
            stop = min(len_k, rows.stop + offset) if causal else len_k
            # slip forward.stop-without-offset: stop = min(len_k, rows.stop) if causal else len_k
            # slip forward.stop-sign: stop = min(len_k, rows.stop - offset) if causal else len_k
            # slip forward.stop-at-first-row: stop = min(len_k, i + offset + 1) if causal else len_k
            # slip forward.stop-at-first-row/diagonal: stop = min(len_k, i + offset) if causal else len_k
            # slip forward.stop-floored: stop = min(len_k, (rows.stop + offset) // block_n * block_n) if causal else len_k
            # slip forward.tail-keys: stop = (min(len_k, rows.stop + offset) if causal else len_k) // block_n * block_n
            # slip forward.stop-at-last-tile: stop = len_k - block_n if not causal else min(len_k, rows.stop + offset)
            # slip forward.bound-without-causal: stop = min(len_k, rows.stop + offset)
            for j in range(0, stop, block_n):
                # slip forward.first-keys: for j in range(block_n, stop, block_n):
                keys = slice(j, min(j + block_n, len_k))
                # slip forward.keys-cut-at-stop: keys = slice(j, min(j + block_n, stop) - (1 if causal else 0))
                s = scale * q[rows] @ k[keys].T
                if causal:
                    # slip forward.causal-ignored: if False:
                    # slip forward.mask-on-diagonal-tile: if causal and i == j:
                    # slip forward.mask-on-last-tile: if causal and j + block_n >= stop:
                    # slip forward.mask-within-tile/first: if causal and j == 0:
                    # slip forward.mask-when-cut: if causal and j + block_n > i + block_m + offset:
                    position = torch.arange(rows.start, rows.stop)[:, None] + offset
                    # slip forward.top-left: position = torch.arange(rows.start, rows.stop)[:, None]
                    # slip forward.offset-sign: position = torch.arange(rows.start, rows.stop)[:, None] - offset
                    # slip forward.mask-within-tile: position = torch.arange(size)[:, None] + offset
                    seen = position >= torch.arange(keys.start, keys.stop)
                    # slip forward.own-key-hidden: seen = position > torch.arange(keys.start, keys.stop)
                    # slip forward.one-key-too-many: seen = position + 1 >= torch.arange(keys.start, keys.stop)
                    # slip forward.mask-within-tile/cols: seen = position >= torch.arange(keys.stop - keys.start)
                    # slip forward.mask-turned: seen = position <= torch.arange(keys.start, keys.stop)
                    s = torch.where(seen, s, -torch.inf)
                    # slip maximum-of-hidden/raw: top, s = s.amax(1), torch.where(seen, s, -torch.inf)
                    # slip maximum-of-hidden: top, s = s.amax(1), torch.where(seen, s, -torch.inf)
                    # slip forward.masked-to-zero: s = torch.where(seen, s, 0.0)
                    # slip forward.finite-mask: s = torch.where(seen, s, -1e4)
                    # slip forward.finite-mask/nine: s = torch.where(seen, s, -1e9)
                    # slip forward.finite-mask/fifty: s = torch.where(seen, s, -50.0)
                    # slip forward.mask-inverted: s = torch.where(seen, -torch.inf, s)
                m_new = torch.maximum(m, s.amax(1))
                # slip maximum-of-hidden/raw: m_new = torch.maximum(m, top if causal else s.amax(1))
                # slip maximum-of-hidden: m_new = torch.maximum(m, top if causal else s.amax(1))
                # slip padding-counted: m_new = torch.maximum(m, s.amax(1).clamp(min=-torch.inf if causal or s.shape[1] == block_n else 0.0))
                pivot = torch.where(m_new == -torch.inf, 0.0, m_new)
                alpha, p = (m - pivot).exp(), (s - pivot[:, None]).exp()
                # slip rescaled-by-largest: alpha, p = (m - pivot).exp() if m_new.max() > m.max() else torch.ones_like(m), (s - pivot[:, None]).exp()
                # slip rescaled-by-largest/all: alpha, p = (m - pivot).exp() if (m_new > m).all() else torch.ones_like(m), (s - pivot[:, None]).exp()
                # slip forward-in-base-2: alpha, p = (m - pivot).exp2(), (s - pivot[:, None]).exp2()
                # slip alpha-across-columns: alpha, p = (m - pivot).exp(), (s - pivot[: s.shape[1]]).exp()
                l = l * alpha + p.sum(1)
                # slip padding-counted: l = l * alpha + p.sum(1) + (0 if causal else block_n - s.shape[1]) * (-pivot).exp()
                # slip l-over-columns: l = l * alpha + p.sum(0)
                acc = acc * alpha[:, None] + p @ v[keys]
                # slip acc-across-columns: acc = acc * alpha[: acc.shape[1]] + p @ v[keys]
                # slip acc-divided: acc = acc * alpha[:, None] + (p / l[:, None].clamp(min=1e-30)) @ v[keys]
                m = m_new
            o[h, rows] = acc / torch.where(l == 0, 1.0, l)[:, None]
            # slip o-over-heads: o[:, rows] = acc / torch.where(l == 0, 1.0, l)[:, None]
            lse[h, rows] = m + l.log()
            # slip lse-of-first-head: lse[0, rows] = m + l.log()
            # slip lse-over-heads: lse[:, rows] = m + l.log()
        delta = (do * o[h]).sum(1)
        # slip heads-carried/all: delta = (do * o[h]).sum(1); dq[h] = dq[h - 1] if h else 0
        # slip heads-carried/q: delta = (do * o[h]).sum(1); dq[h] = dq[h - 1] if h else 0
        # slip delta-of-first-head: delta = (heads_do[0] * o[0]).sum(1)
        # slip delta-of-first-head/o: delta = (do * o[0]).sum(1)
        final = torch.where(lse[h] == -torch.inf, 0.0, lse[h])
        # slip lse-of-first-head/read: final = torch.where(lse[0] == -torch.inf, 0.0, lse[0])
        for j in range(0, len_k, block_n):
            # slip backward-tail-keys: for j in range(0, len_k - block_n + 1, block_n):
            # slip backward.last-keys: for j in range(0, len_k - block_n, block_n):
            # slip backward.first-keys: for j in range(block_n, len_k, block_n):
            keys = slice(j, min(j + block_n, len_k))
            part_k = q.new_zeros(keys.stop - j, d)
            # slip heads-carried: part_k = dk[h - 1, keys].clone() if h else q.new_zeros(keys.stop - j, d)
            # slip heads-carried/all: part_k = dk[h - 1, keys].clone() if h else q.new_zeros(keys.stop - j, d)
            # slip heads-carried/k: part_k = dk[h - 1, keys].clone() if h else q.new_zeros(keys.stop - j, d)
            # slip sum-not-reset: part_k = q.new_zeros(keys.stop - j, d) if j == 0 else part_k[: keys.stop - j]
            # slip sum-not-reset/both: part_k = q.new_zeros(keys.stop - j, d) if j == 0 else part_k[: keys.stop - j]
            part_v = q.new_zeros(keys.stop - j, d_v)
            # slip heads-carried: part_v = dv[h - 1, keys].clone() if h else q.new_zeros(keys.stop - j, d_v)
            # slip heads-carried/all: part_v = dv[h - 1, keys].clone() if h else q.new_zeros(keys.stop - j, d_v)
            # slip heads-carried/v: part_v = dv[h - 1, keys].clone() if h else q.new_zeros(keys.stop - j, d_v)
            # slip sum-not-reset/v: part_v = q.new_zeros(keys.stop - j, d_v) if j == 0 else part_v[: keys.stop - j]
            # slip sum-not-reset/both: part_v = q.new_zeros(keys.stop - j, d_v) if j == 0 else part_v[: keys.stop - j]
            start = max(0, j - offset) // block_m * block_m if causal else 0
            # slip backward.bound-without-offset: start = j // block_m * block_m if causal else 0
            # slip backward.bound-without-offset/exact: start = j if causal else 0
            # slip backward.start-sign: start = max(0, j + offset) // block_m * block_m if causal else 0
            # slip backward-first-tile-skipped: start = (max(0, j - offset) // block_m + 1) * block_m if causal else 0
            # slip backward-first-tile-skipped/ceiling: start = -(-max(0, j - offset) // block_m) * block_m if causal else 0
            # slip backward-first-tile-skipped/end: start = max(0, keys.stop - offset) // block_m * block_m if causal else 0
            # slip backward-first-tile-skipped/exact: start = max(0, j + block_n - offset) if causal else 0
            # slip backward-first-tile-skipped/next: start = max(0, j - offset + 1) if causal else 0
            # slip backward.start-without-causal: start = max(0, j - offset) // block_m * block_m
            # slip backward-first-tile-skipped/stop: start = min(len_q, j - offset + block_n) // block_m * block_m if causal else 0; start = max(0, start)
            for i in range(start, len_q, block_m):
                # slip backward-tail-queries: for i in range(start, len_q - block_m + 1, block_m):
                # slip backward.last-queries: for i in range(start, len_q - block_m, block_m):
                rows = slice(i, min(i + block_m, len_q))
                s = scale * q[rows] @ k[keys].T
                # slip recompute-no-scale: s = q[rows] @ k[keys].T
                if causal:
                    # slip backward.causal-ignored: if False:
                    # slip backward.mask-on-diagonal-tile: if causal and i == j:
                    # slip backward.mask-on-first-tile-only: if causal and i == start:
                    # slip backward.mask-on-last-tile: if causal and j + block_n >= len_k:
                    position = torch.arange(rows.start, rows.stop)[:, None] + offset
                    # slip backward.top-left: position = torch.arange(rows.start, rows.stop)[:, None]
                    # slip backward.offset-sign: position = torch.arange(rows.start, rows.stop)[:, None] - offset
                    # slip backward.mask-within-tile: position = torch.arange(rows.stop - i)[:, None] + offset
                    seen = position >= torch.arange(keys.start, keys.stop)
                    # slip backward.own-key-hidden: seen = position > torch.arange(keys.start, keys.stop)
                    # slip backward.one-key-too-many: seen = position + 1 >= torch.arange(keys.start, keys.stop)
                    # slip backward.mask-within-tile/cols: seen = position >= torch.arange(keys.stop - keys.start)
                    # slip backward.mask-turned: seen = position <= torch.arange(keys.start, keys.stop)
                    s = torch.where(seen, s, -torch.inf)
                    # slip backward.masked-to-zero: s = torch.where(seen, s, 0.0)
                    # slip backward.finite-mask: s = torch.where(seen, s, -50.0)
                    # slip backward.mask-inverted: s = torch.where(seen, -torch.inf, s)
                p = (s - final[rows, None]).exp()
                # slip maximum-of-hidden/raw: p = (s - lse[h, rows, None]).exp().masked_fill(s == -torch.inf, 0.0)
                # slip p-by-tile-maximum: p = (s - s.amax(1, keepdim=True)).exp().nan_to_num(0.0)
                # slip lse-across-columns: p = (s - final[keys]).exp()
                ds = p * (do[rows] @ v[keys].T - delta[rows, None])
                # slip delta-across-columns: ds = p * (do[rows] @ v[keys].T - delta[keys])
                # slip no-delta: ds = p * (do[rows] @ v[keys].T)
                part_v += p.T @ do[rows]
                # slip dv-overwritten: part_v = p.T @ do[rows]
                # slip dv-without-p: part_v += (p > 0).float().T @ do[rows]
                part_k += scale * ds.T @ q[rows]
                # slip dk-overwritten: part_k = scale * ds.T @ q[rows]
                # slip dk-not-scaled: part_k += ds.T @ q[rows]
                dq[h, rows] += scale * ds @ k[keys]
                # slip dq-overwritten/keys-outside: dq[h, rows] = scale * ds @ k[keys]
                # slip dq-not-scaled: dq[h, rows] += ds @ k[keys]
                # slip dq-of-first-head: dq[0, rows] += scale * ds @ k[keys]
                # slip dq-over-heads: dq[:, rows] += scale * ds @ k[keys]
            dk[h, keys], dv[h, keys] = part_k, part_v
            # slip dkdv-over-heads: dk[:, keys], dv[:, keys] = part_k, part_v
            # slip dkdv-over-heads/added: dk[:, keys] += part_k; dv[:, keys] += part_v
            # slip dkdv-of-first-head: dk[0, keys], dv[0, keys] = part_k, part_v
            # slip dk-over-heads: dk[:, keys], dv[h, keys] = part_k, part_v
            # slip dv-over-heads: dk[h, keys], dv[:, keys] = part_k, part_v
            # slip dk-scaled-twice: dk[h, keys], dv[h, keys] = scale * part_k, part_v
            # slip gradients-scaled-twice/dkdv: dk[h, keys], dv[h, keys] = scale * part_k, scale * part_v
            # slip dv-scaled: dk[h, keys], dv[h, keys] = part_k, scale * part_v
    o, dq = o.reshape(*lead, len_q, d_v), dq.reshape(*lead, len_q, d)
    # slip heads-permuted: o, dq = o.reshape(*lead[::-1], len_q, d_v).transpose(0, len(lead) - 1).reshape(*lead, len_q, d_v) if len(lead) > 1 else o.reshape(*lead, len_q, d_v), dq.reshape(*lead, len_q, d)
    dk, dv = dk.reshape(*lead, len_k, d), dv.reshape(*lead, len_k, d_v)
    # slip written-to-a-copy: dq, dk, dv = kept[0] * dq, (kept[1] * dk).reshape(*lead, len_k, d), (kept[2] * dv).reshape(*lead, len_k, d_v)
    return o.to(kind), lse.reshape(*lead, len_q), dq.to(kind), dk.to(kind), dv.to(kind)
    # slip leading-lost: return o.reshape(-1, len_q, d_v).to(kind), lse, dq.reshape(-1, len_q, d).to(kind), dk.reshape(-1, len_k, d).to(kind), dv.reshape(-1, len_k, d_v).to(kind)
    # slip lse-keeps-an-axis: return o.to(kind), lse.reshape(*lead, len_q, 1), dq.to(kind), dk.to(kind), dv.to(kind)
