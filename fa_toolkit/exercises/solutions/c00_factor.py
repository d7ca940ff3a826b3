"""Solution of 00.factor."""

# mypy: allow-untyped-defs

import math


# cell
def factor(m_old, m_new):
    """By what a sum of e^(x − m_old) must be multiplied to become a sum of e^(x − m_new)."""
    # solution:begin
    return math.exp(m_old - m_new)
    # solution:end
