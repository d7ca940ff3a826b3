"""Solution of 03.fix_pivot."""

# mypy: allow-untyped-defs
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch


# cell
def guarded_softmax(x, block):
    """m and l of the row x [N], `block` numbers at a time; blocks may be all -inf."""
    # stub: raise NotImplementedError  # remove this line, run the check, then find the fault
    m, l = torch.tensor(-torch.inf), torch.tensor(0.0)
    for start in range(0, len(x), block):
        part = x[start : start + block]
        m_new = torch.maximum(m, part.max())
        # solution:begin fix
        # stub: m_new = torch.where(m_new == -torch.inf, 0.0, m_new)  # -inf - -inf would be NaN
        # stub: l = l * (m - m_new).exp() + (part - m_new).exp().sum()
        pivot = torch.where(m_new == -torch.inf, 0.0, m_new)  # -inf - -inf would be NaN
        l = l * (m - pivot).exp() + (part - pivot).exp().sum()
        # solution:end
        m = m_new
    return m, l
