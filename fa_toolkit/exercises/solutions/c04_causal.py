"""Solution of 04.causal."""

# mypy: allow-untyped-defs
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch


# cell
def causal_forward(q, k, v, block_m, block_n):
    """Causal attention, bottom-right, any Nq and Nk: o [Nq, Dv] like q, lse [Nq] in float32."""
    diagonal = len(k) - len(q)  # query i stands at key position i + diagonal
    o, lse = q.new_zeros(len(q), v.shape[1]), torch.full([len(q)], -torch.inf)
    for i in range(0, len(q), block_m):
        q_tile = q[i : i + block_m].float() * q.shape[1] ** -0.5
        rows = torch.arange(i, i + len(q_tile))
        m = torch.full([len(q_tile)], -torch.inf)
        l, acc = torch.zeros(len(q_tile)), torch.zeros(len(q_tile), v.shape[1])
        # solution:begin
        stop = min(len(k), i + len(q_tile) + diagonal)  # may be below 0: then no tile at all
        for j in range(0, stop, block_n):
            s = q_tile @ k[j : j + block_n].float().T
            cols = torch.arange(j, j + s.shape[1])
            s = s.masked_fill(cols > rows[:, None] + diagonal, -torch.inf)
            m_new = torch.maximum(m, s.amax(1))
            pivot = torch.where(m_new == -torch.inf, 0.0, m_new)
            alpha, p = (m - pivot).exp(), (s - pivot[:, None]).exp()
            l = l * alpha + p.sum(1)
            acc = acc * alpha[:, None] + p @ v[j : j + block_n].float()
            m = m_new
        seen = torch.where(l == 0, 1.0, l)  # a row without keys keeps o = 0
        o[i : i + block_m] = (acc / seen[:, None]).to(q.dtype)
        lse[i : i + block_m] = m + seen.log()
        # solution:end
    return o, lse
