"""03.merge, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "03.merge"

BUGS = {
    # acc is weighted by l e^(m_side - m) as if it were normalised; it is not, so the factor l is
    # one too many (m and l are right)
    "merge_by_weight": {"weighted-by-l"},
}
RIGHT = ["merge_by_gap"]


def merge_by_weight(a, b):
    """Each side counts by its weight, brought to the common maximum."""
    (m_a, l_a, acc_a), (m_b, l_b, acc_b) = a, b
    m = torch.maximum(m_a, m_b)
    ref = torch.where(m == -torch.inf, 0.0, m)
    w_a, w_b = l_a * torch.exp(m_a - ref), l_b * torch.exp(m_b - ref)
    return m, w_a + w_b, w_a[:, None] * acc_a + w_b[:, None] * acc_b


def merge_by_gap(a, b):
    """Only the smaller side shrinks, by e^-(gap between the two maxima)."""
    m = torch.stack([a[0], b[0]])
    l = torch.stack([a[1], b[1]])
    acc = torch.stack([a[2], b[2]])
    high, order = m.sort(dim=0, descending=True)
    l, acc = l.gather(0, order), acc.gather(0, order[..., None].expand_as(acc))
    gap = torch.where(torch.isneginf(high[1]), torch.inf, high[0] - high[1])
    fade = torch.exp(-gap)
    return high[0], torch.addcmul(l[0], l[1], fade), torch.addcmul(acc[0], acc[1], fade[:, None])
