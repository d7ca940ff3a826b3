"""Solution of 03.online."""

# mypy: allow-untyped-defs
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch


# cell
def online_softmax(x, block):
    """Maximum m and denominator l of the row x [N], seen `block` numbers at a time."""
    m, l = torch.tensor(-torch.inf), torch.tensor(0.0)
    for start in range(0, len(x), block):
        part = x[start : start + block]
        # solution:begin
        m_new = torch.maximum(m, part.max())
        pivot = 0.0 if m_new == -torch.inf else m_new
        l = l * (m - pivot).exp() + (part - pivot).exp().sum()
        m = m_new
        # solution:end
    return m, l
