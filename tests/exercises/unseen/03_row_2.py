"""03.row, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "03.row"

BUGS = {
    # acc is divided by the denominator after every block and so is returned normalised, while the
    # exercise carries it un-normalised
    "attend_row_blended": {"normalised-each-step"},
}
RIGHT = []


def attend_row_blended(s, v, block):
    """A weighted mean of what was there and what the block brings."""
    m, l, acc = torch.tensor(-torch.inf), torch.tensor(0.0), torch.zeros(v.shape[1])
    for part, v_part in zip(s.float().split(block), v.float().split(block), strict=True):
        m_new = torch.max(m, part.max())
        if m_new.isneginf():
            continue
        alpha = torch.exp(m - m_new)
        p = torch.exp(part - m_new)
        l_new = l * alpha + p.sum()
        acc = (acc * (l * alpha) + p @ v_part) / l_new
        m, l = m_new, l_new
    return m, l, acc
