"""03.row, from its specification alone."""

# mypy: ignore-errors
# ruff: noqa: E741  (l is the denominator's name on every floor)
import math

import torch

EXERCISE = "03.row"

BUGS = {
    "factor_on_the_whole_sum": {"factor-on-the-sum"},
    "factor_on_the_new_terms": {"nothing-rescaled"},
    "empty_blocks_left_as_nan": {"inf-minus-inf"},
}
RIGHT = ["key_by_key_in_python"]


def factor_on_the_whole_sum(s, v, block):
    m, l, acc = torch.tensor(-math.inf), torch.tensor(0.0), torch.zeros(v.shape[1])
    for j in range(0, len(s), block):
        part = s[j : j + block]
        m_new = torch.maximum(m, part.max())
        base = m_new if m_new > -math.inf else torch.tensor(0.0)
        alpha, p = torch.exp(m - base), torch.exp(part - base)
        l = l * alpha + p.sum()
        acc = (acc + p @ v[j : j + block]) * alpha
        m = m_new
    return m, l, acc


def factor_on_the_new_terms(s, v, block):
    m, l, acc = torch.tensor(-math.inf), torch.tensor(0.0), torch.zeros(v.shape[1])
    for j in range(0, len(s), block):
        part = s[j : j + block]
        top = part.max()
        base = top if top > -math.inf else torch.tensor(0.0)
        p = torch.exp(part - base)
        m_new = torch.maximum(m, top)
        safe = m_new if m_new > -math.inf else torch.tensor(0.0)
        beta = torch.exp(top - safe)
        l, acc, m = l + beta * p.sum(), acc + beta * (p @ v[j : j + block]), m_new
    return m, l, acc


def empty_blocks_left_as_nan(s, v, block):
    m, l, acc = torch.tensor(-math.inf), torch.tensor(0.0), torch.zeros(v.shape[1])
    for part, values in zip(s.split(block), v.split(block), strict=True):
        m_new = torch.maximum(m, part.max())
        alpha, p = (m - m_new).exp(), (part - m_new).exp()
        l, acc, m = l * alpha + p.sum(), acc * alpha + p @ values, m_new
    return m, l, acc


def key_by_key_in_python(s, v, block):
    m, l, acc = -math.inf, 0.0, [0.0] * v.shape[1]
    for score, row in zip(s.tolist(), v.tolist(), strict=True):
        if score == -math.inf:
            continue
        new = max(m, score)
        old, p = math.exp(m - new), math.exp(score - new)
        l, acc, m = l * old + p, [a * old + p * x for a, x in zip(acc, row, strict=True)], new
    return m, l, torch.tensor(acc)
