"""Solution of 04.fix_dead_rows."""

# mypy: allow-untyped-defs
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch


# cell
def late_keys(q, k, v, block):
    """Causal, bottom-right, all rows of Q at once: o [Nq, Dv] and lse [Nq]; Nq may exceed Nk."""
    # stub: raise NotImplementedError  # remove this line, run the check, then find the fault
    q, rows = q * q.shape[1] ** -0.5, torch.arange(len(q)) + len(k) - len(q)
    m, l = torch.full([len(q)], -torch.inf), torch.zeros(len(q))
    acc = torch.zeros(len(q), v.shape[1])
    for j in range(0, len(k), block):
        s = q @ k[j : j + block].T
        s = s.masked_fill(torch.arange(j, j + s.shape[1]) > rows[:, None], -torch.inf)
        m_new = torch.maximum(m, s.amax(1))
        # solution:begin fix
        # stub: alpha, p = (m - m_new).exp(), (s - m_new[:, None]).exp()
        pivot = torch.where(m_new == -torch.inf, 0.0, m_new)
        alpha, p = (m - pivot).exp(), (s - pivot[:, None]).exp()
        # solution:end
        l = l * alpha + p.sum(1)
        acc = acc * alpha[:, None] + p @ v[j : j + block]
        m = m_new
    # solution:begin fix
    # stub: return acc / l[:, None], m + l.log()
    seen = torch.where(l == 0, 1.0, l)
    return acc / seen[:, None], m + seen.log()
    # solution:end
