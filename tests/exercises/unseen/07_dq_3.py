"""07.dq, from its specification alone, in a third hand."""

# mypy: ignore-errors
import torch

EXERCISE = "07.dq"

BUGS = {
    # The scale at the end of the outer loop multiplies the whole of dq and not only the finished
    # tile, so earlier tiles of queries are scaled again for every later one; right with one tile
    # of queries.
    "grad_q_kit": {"scaled-again"},
}
RIGHT = []


def grad_q_kit(q, k, v, do, lse, delta, block_m, block_n):
    """dQ: for a tile of queries the sum over all tiles of keys."""
    dq, scale = torch.zeros(len(q), q.shape[1]), q.shape[1] ** -0.5
    for i in range(0, len(q), block_m):
        mine = slice(i, i + block_m)
        for j in range(0, len(k), block_n):
            kj, vj = k[j : j + block_n], v[j : j + block_n]
            p = torch.exp(scale * q[mine] @ kj.T - lse[mine].unsqueeze(1))
            ds = p * (do[mine] @ vj.T - delta[mine].unsqueeze(1))
            dq[mine] += ds @ kj
        dq *= scale  # this tile of queries is finished
    return dq
