"""Solution of 04.fix_mask_value."""

# mypy: allow-untyped-defs
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch


# cell
def padded_forward(q, k, v, keep, block):
    """o [Nq, Dv] of one head; keys where keep [Nk] is False do not exist. o = 0 if none does."""
    # stub: raise NotImplementedError  # remove this line, run the check, then find the fault
    q = q * q.shape[1] ** -0.5
    m, l = torch.full([len(q)], -torch.inf), torch.zeros(len(q))
    acc = torch.zeros(len(q), v.shape[1])
    for j in range(0, len(k), block):
        s = q @ k[j : j + block].T
        # solution:begin fix
        # stub: s = torch.where(keep[j : j + block], s, -1e4)
        s = torch.where(keep[j : j + block], s, -torch.inf)
        # solution:end
        m_new = torch.maximum(m, s.amax(1))
        pivot = torch.where(m_new == -torch.inf, 0.0, m_new)
        alpha, p = (m - pivot).exp(), (s - pivot[:, None]).exp()
        l = l * alpha + p.sum(1)
        acc = acc * alpha[:, None] + p @ v[j : j + block]
        m = m_new
    return acc / torch.where(l == 0, 1.0, l)[:, None]
