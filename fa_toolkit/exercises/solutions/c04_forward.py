"""Solution of 04.forward."""

# mypy: allow-untyped-defs
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch


# cell
def tiled_forward(q, k, v, block_m, block_n):
    """Attention of one head in tiles: o [Nq, Dv] like q, lse [Nq] in float32."""
    o, lse = q.new_zeros(len(q), v.shape[1]), torch.zeros(len(q))
    for i in range(0, len(q), block_m):
        rows = slice(i, min(i + block_m, len(q)))
        # solution:begin
        q_tile = q[rows].float() * q.shape[1] ** -0.5
        m = torch.full([len(q_tile)], -torch.inf)
        l, acc = torch.zeros(len(q_tile)), torch.zeros(len(q_tile), v.shape[1])
        for j in range(0, len(k), block_n):
            s = q_tile @ k[j : j + block_n].float().T
            m_new = torch.maximum(m, s.amax(1))
            alpha, p = (m - m_new).exp(), (s - m_new[:, None]).exp()
            l = l * alpha + p.sum(1)
            acc = acc * alpha[:, None] + p @ v[j : j + block_n].float()
            m = m_new
        o[rows] = (acc / l.clamp(min=1e-30)[:, None]).to(q.dtype)
        lse[rows] = m + l.log()
        # solution:end
    return o, lse
