"""04.fix_dead_rows, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "04.fix_dead_rows"

BUGS = {}
RIGHT = ["late_keys_clamped"]


def late_keys_clamped(q, k, v, block):
    """A finite floor under the maximum, and l of at least 1 (a live row's greatest p is 1)."""
    q, rows = q * q.shape[1] ** -0.5, torch.arange(len(q)) + len(k) - len(q)
    m, l = torch.full([len(q)], -torch.inf), torch.zeros(len(q))
    acc = torch.zeros(len(q), v.shape[1])
    for j in range(0, len(k), block):
        s = q @ k[j : j + block].T
        s = s.masked_fill(torch.arange(j, j + s.shape[1]) > rows[:, None], -torch.inf)
        m_new = torch.maximum(m, s.amax(1))
        floor = m_new.clamp(min=torch.finfo(m_new.dtype).min)
        alpha, p = (m - floor).exp(), (s - floor[:, None]).exp()
        l = l * alpha + p.sum(1)
        acc = acc * alpha[:, None] + p @ v[j : j + block]
        m = m_new
    l = l.clamp(min=1.0)
    return acc / l[:, None], m + l.log()
