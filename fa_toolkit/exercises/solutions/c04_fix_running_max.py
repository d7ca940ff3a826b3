"""Solution of 04.fix_running_max."""

# mypy: allow-untyped-defs
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch


# cell
def steady_forward(q, k, v, block):
    """o [Nq, Dv] and lse [Nq] of one head without a mask, all rows of Q at once."""
    # stub: raise NotImplementedError  # remove this line, run the check, then find the fault
    q = q * q.shape[1] ** -0.5
    m, l = torch.full([len(q)], -torch.inf), torch.zeros(len(q))
    acc = torch.zeros(len(q), v.shape[1])
    for j in range(0, len(k), block):
        s = q @ k[j : j + block].T
        # solution:begin fix
        # stub: m_new = s.amax(1)
        m_new = torch.maximum(m, s.amax(1))
        # solution:end
        alpha, p = (m - m_new).exp(), (s - m_new[:, None]).exp()
        l = l * alpha + p.sum(1)
        acc = acc * alpha[:, None] + p @ v[j : j + block]
        m = m_new
    return acc / l[:, None], m + l.log()
