"""07.dq, from its specification alone, in a second hand."""

# mypy: ignore-errors
import torch

EXERCISE = "07.dq"

BUGS = {
    # dq[rows] is overwritten by every tile of keys instead of added to: only the last tile
    # remains
    "grad_q_stored": {"keys-overwritten"},
}
RIGHT = []


def grad_q_stored(q, k, v, do, lse, delta, block_m, block_n):
    """Queries outside, keys inside."""
    dq, scale = torch.zeros(len(q), q.shape[1]), q.shape[1] ** -0.5
    for q0 in range(0, len(q), block_m):
        rows = slice(q0, q0 + block_m)
        qt, gt = q[rows].float(), do[rows].float()
        level, dlt = lse[rows].unsqueeze(1), delta[rows].unsqueeze(1)
        for k0 in range(0, len(k), block_n):
            kt, vt = k[k0 : k0 + block_n].float(), v[k0 : k0 + block_n].float()
            p = torch.einsum("md,nd->mn", qt, kt).mul(scale).sub(level).exp()
            ds = p * (torch.einsum("me,ne->mn", gt, vt) - dlt)
            dq[rows] = torch.einsum("mn,nd->md", ds, kt) * scale
    return dq
