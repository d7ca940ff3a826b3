"""04.square, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "04.square"

BUGS = {
    # the test j > i comes after the scores of the tile are made: one tile too many is computed
    # and counted for every block of rows but the last (o is right)
    "square_with_break": {"counted-before-the-end"},
}
RIGHT = []


def square_with_break(q, k, v, block):
    """Leave the loop over keys as soon as a tile lies above the diagonal."""
    n, scale = len(q), q.shape[1] ** -0.5
    o, tiles = torch.zeros(n, v.shape[1]), 0
    for i in range(0, n, block):
        q_tile = q[i : i + block].float()
        rows = torch.arange(i, i + len(q_tile))[:, None]
        m = torch.full((len(q_tile), 1), -torch.inf)
        l, acc = torch.zeros(len(q_tile), 1), torch.zeros(len(q_tile), v.shape[1])
        for j in range(0, n, block):
            s = torch.einsum("id,jd->ij", q_tile, k[j : j + block].float()) * scale
            tiles += 1
            cols = torch.arange(j, j + s.shape[1])
            s = torch.where(cols <= rows, s, -torch.inf)
            if j > i:
                break
            m_new = torch.maximum(m, s.amax(1, keepdim=True))
            p, alpha = (s - m_new).exp(), (m - m_new).exp()
            l, acc, m = (
                l * alpha + p.sum(1, keepdim=True),
                acc * alpha + p @ v[j : j + block].float(),
                m_new,
            )
        o[i : i + block] = acc / l
    return o, tiles
