"""03.row, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "03.row"


def attend_block_by_block(s, v, block):
    m, l, acc = torch.tensor(-torch.inf), torch.tensor(0.0), torch.zeros(v.shape[1])
    for start in range(0, len(s), block):
        part, v_part = s[start : start + block], v[start : start + block]
        m_block = part.max()
        if m_block == -torch.inf:
            continue
        m_new = torch.maximum(m, m_block)
        p = torch.exp(part - m_block)
        alpha = torch.exp(m - m_new)
        l = alpha * l + p.sum()
        acc = alpha * acc + p @ v_part
        m = m_new
    return m, l, acc


BUGS = {
    # p = e^(s - maximum of the block) instead of e^(s - m_new): a block whose own maximum is
    # below the running one is counted too large in l and acc.
    "attend_block_by_block": {"tile-maximum"},
}
RIGHT = ()
