"""Solution of 03.rows."""

# mypy: allow-untyped-defs
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch


# cell
def fold(state, s, v):
    """Fold one tile, scores s [rows, keys] and values v [keys, D], into state (m, l, acc)."""
    m, l, acc = state  # [rows], [rows], [rows, D]
    # solution:begin
    m_new = torch.maximum(m, s.amax(1))
    pivot = torch.where(m_new == -torch.inf, 0.0, m_new)
    alpha, p = (m - pivot).exp(), (s - pivot[:, None]).exp()
    return m_new, l * alpha + p.sum(1), acc * alpha[:, None] + p @ v
    # solution:end
