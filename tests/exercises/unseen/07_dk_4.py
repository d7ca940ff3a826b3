"""07.dk, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N806
import torch

EXERCISE = "07.dk"


def tile_of_keys(q, k, v, do, lse, delta, block_m, block_n):
    dk, scale = torch.zeros(len(k), k.shape[1]), q.shape[1] ** -0.5
    for j in range(0, len(k), block_n):
        for i in range(0, len(q), block_m):
            rows, keys = slice(i, i + block_m), slice(j, j + block_n)
            q_i, do_i = q[rows].float(), do[rows].float()
            k_j, v_j = k[keys].float(), v[keys].float()
            p = torch.exp(scale * q_i @ k_j.T - lse[rows, None])
            ds = p * (do_i @ v_j.T - delta[rows, None])
            dk[keys] = scale * ds.T @ q_i
    return dk


def two_sums(q, k, v, do, lse, delta, block_m, block_n):
    """dK as a difference: p-weighted (do v) q, less p-weighted Delta q; queries run backwards."""
    c = q.shape[1] ** -0.5
    parts = [torch.zeros(0, k.shape[1])]
    starts = range(0, len(q), block_m)
    for kj, vj in zip(k.split(block_n), v.split(block_n)) if len(k) else ():  # noqa: B905
        kj, vj = kj.float(), vj.float()
        total = kj.new_zeros(kj.shape[1], kj.shape[0])  # transposed: [D, keys]
        for i in reversed(starts):
            qT = q[i : i + block_m].float().T.contiguous()
            p = torch.addmm(
                -lse[i : i + block_m, None].expand(-1, len(kj)), qT.T, kj.T, alpha=c
            ).exp()
            dp = do[i : i + block_m].float() @ vj.T
            total = total + qT @ (p * dp) - (qT * delta[i : i + block_m]) @ p
        parts.append(c * total.T)
    return torch.cat(parts)


BUGS = {
    # dk[keys] is assigned (=) in the inner loop instead of added to (+=), so only the last tile
    # of queries counts.
    "tile_of_keys": {"rows-overwritten"},
}
RIGHT = ("two_sums",)
