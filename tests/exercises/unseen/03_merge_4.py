"""03.merge, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "03.merge"


def merge_outputs(a, b):
    (m_a, l_a, acc_a), (m_b, l_b, acc_b) = a, b
    m = torch.maximum(m_a, m_b)
    pivot = torch.where(m == -torch.inf, torch.zeros_like(m), m)
    w_a = l_a * torch.exp(m_a - pivot)
    w_b = l_b * torch.exp(m_b - pivot)
    acc = w_a[:, None] * acc_a + w_b[:, None] * acc_b
    return m, w_a + w_b, acc


def merge_stacked(a, b):
    """Both states on a new first axis; the weights of the two parts in one go."""
    m, l, acc = (torch.stack(pair) for pair in zip(a, b))  # noqa: B905
    top = m.max(0).values
    w = torch.where(m > -torch.inf, (m - top).exp(), 0.0)
    return top, (w * l).sum(0), (w[..., None] * acc).sum(0)


BUGS = {
    # acc_a and acc_b are weighted with l * e^(m - m_new), as if they were normalised outputs;
    # they are un-normalised and want e^(m - m_new) only.
    "merge_outputs": {"weighted-by-l"},
}
RIGHT = ("merge_stacked",)
