"""Solution of 07.full."""

# mypy: allow-untyped-defs, allow-untyped-calls
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch


# cell
def attention_in_tiles(q, k, v, do, causal):
    """(o, lse, dq, dk, dv): attention and the gradients of sum(o * do), in tiles."""
    # solution:begin
    block, scale, minus_inf = 64, q.shape[-1] ** -0.5, -torch.inf
    len_q, len_k, kind = q.shape[-2], k.shape[-2], q.dtype
    rows, keys = torch.arange(len_q)[:, None], torch.arange(len_k)
    q, k, v, do = (x.float() for x in (q, k, v, do))
    o, lse = torch.zeros_like(do), q.new_full(q.shape[:-1], minus_inf)
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)

    def tile(i, j):
        """Masked scores of one tile, and the slices of its rows and keys."""
        at, over = slice(i, i + block), slice(j, j + block)
        s = scale * q[..., at, :] @ k[..., over, :].mT
        hidden = rows[at] + len_k - len_q < keys[over]
        return (s.masked_fill(hidden, minus_inf) if causal else s), at, over

    for i in range(0, len_q, block):
        m = q.new_full((*q.shape[:-2], min(block, len_q - i), 1), minus_inf)
        l, acc = torch.zeros_like(m), 0.0
        for j in range(0, len_k, block):
            s, at, over = tile(i, j)
            m_new = torch.maximum(m, s.amax(-1, keepdim=True))
            pivot = m_new.masked_fill(m_new == minus_inf, 0.0)  # no key seen yet
            alpha, p = (m - pivot).exp(), (s - pivot).exp()
            l, acc = l * alpha + p.sum(-1, keepdim=True), acc * alpha + p @ v[..., over, :]
            m = m_new
        o[..., at, :] = acc / l.masked_fill(l == 0, 1.0)
        lse[..., at] = (m + l.log()).squeeze(-1)

    delta = (do * o).sum(-1, keepdim=True)
    final = lse.masked_fill(lse == minus_inf, 0.0)[..., None]
    for i in range(0, len_q, block):
        for j in range(0, len_k, block):
            s, at, over = tile(i, j)
            p = (s - final[..., at, :]).exp()
            ds = scale * p * (do[..., at, :] @ v[..., over, :].mT - delta[..., at, :])
            dv[..., over, :] += p.mT @ do[..., at, :]
            dk[..., over, :] += ds.mT @ q[..., at, :]
            dq[..., at, :] += ds @ k[..., over, :]
    return o.to(kind), lse, dq.to(kind), dk.to(kind), dv.to(kind)
    # solution:end
