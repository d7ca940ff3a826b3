"""03.rows, from its specification alone."""

# mypy: ignore-errors
# ruff: noqa: E741  (l is the denominator's name on every floor)
import math

import torch

EXERCISE = "03.rows"

BUGS = {
    "largest_of_the_whole_tile": {"one-maximum"},
    "only_this_tile": {"block-maximum"},
    "weights_normalised_at_once": {"normalised-each-step"},
}
RIGHT = ["rows_in_a_python_loop"]


def largest_of_the_whole_tile(state, s, v):
    m, l, acc = state
    new = torch.maximum(m, s.max())
    base = torch.where(torch.isinf(new), torch.zeros_like(new), new)
    alpha, p = (m - base).exp(), (s - base[:, None]).exp()
    return new, l * alpha + p.sum(1), acc * alpha[:, None] + p @ v


def only_this_tile(state, s, v):
    m, l, acc = state
    new = s.amax(1)
    base = torch.where(torch.isinf(new), torch.zeros_like(new), new)
    alpha, p = (m - base).exp(), (s - base[:, None]).exp()
    return new, l * alpha + p.sum(1), acc * alpha[:, None] + p @ v


def weights_normalised_at_once(state, s, v):
    m, l, acc = state
    new = torch.maximum(m, s.amax(1))
    base = torch.where(torch.isinf(new), torch.zeros_like(new), new)
    alpha, p = (m - base).exp(), (s - base[:, None]).exp()
    l = l * alpha + p.sum(1)
    return new, l, (acc * alpha[:, None] + p @ v) / l[:, None]


def rows_in_a_python_loop(state, s, v):
    m, l, acc = (x.clone() for x in state)
    for i in range(len(m)):
        new = max(float(m[i]), float(s[i].max()))
        if new == -math.inf:
            continue
        alpha = math.exp(float(m[i]) - new)
        l[i] *= alpha
        acc[i] *= alpha
        for j in range(s.shape[1]):
            p = math.exp(float(s[i, j]) - new)
            l[i] += p
            acc[i] += p * v[j]
        m[i] = new
    return m, l, acc
