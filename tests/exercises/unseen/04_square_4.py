"""04.square, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "04.square"


def triangle_of_tiles(q, k, v, block):
    n, tiles = len(q), 0
    o = torch.zeros(n, v.shape[1])
    for i in range(0, n, block):
        q_tile = q[i : i + block].float() * q.shape[1] ** -0.5
        m = torch.full([len(q_tile)], -torch.inf)
        l, acc = torch.zeros(len(q_tile)), torch.zeros(len(q_tile), v.shape[1])
        for j in range(0, i + 1, block):
            s = q_tile @ k[j : j + block].float().T
            tiles += 1
            mask = torch.tril(torch.ones_like(s)).bool()
            s = s.masked_fill(~mask, -torch.inf)
            m_new = torch.maximum(m, s.amax(1))
            alpha = torch.exp(m - m_new)
            p = torch.exp(s - m_new[:, None])
            l = l * alpha + p.sum(1)
            acc = acc * alpha[:, None] + p @ v[j : j + block].float()
            m = m_new
        o[i : i + block] = acc / l[:, None]
    return o, tiles


BUGS = {
    # The triangular mask of the tile is applied to every tile, not only to the one on the
    # diagonal, so keys of earlier tiles are hidden that the rows should see.
    "triangle_of_tiles": {"mask-within-tile"},
}
RIGHT = ()
