"""04.fix_mask_value, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "04.fix_mask_value"

BUGS = {
    # hidden scores get the lowest finite number, not -inf: low enough beside real keys, but with
    # no key at all every p is e^0 = 1 and the result is the mean of V, not 0
    "padded_finfo": {"lower-finite-mask"},
}
RIGHT = []


def padded_finfo(q, k, v, keep, block):
    """The lowest number float32 has, as the libraries use."""
    q = q * q.shape[1] ** -0.5
    m, l = torch.full([len(q)], -torch.inf), torch.zeros(len(q))
    acc = torch.zeros(len(q), v.shape[1])
    for j in range(0, len(k), block):
        s = q @ k[j : j + block].T
        s = torch.where(keep[j : j + block], s, torch.finfo(s.dtype).min)
        m_new = torch.maximum(m, s.amax(1))
        pivot = torch.where(m_new == -torch.inf, 0.0, m_new)
        alpha, p = (m - pivot).exp(), (s - pivot[:, None]).exp()
        l = l * alpha + p.sum(1)
        acc = acc * alpha[:, None] + p @ v[j : j + block]
        m = m_new
    return acc / torch.where(l == 0, 1.0, l)[:, None]
