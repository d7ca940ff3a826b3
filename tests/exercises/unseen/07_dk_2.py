"""07.dk, from its specification alone, in a second hand."""

# mypy: ignore-errors
import torch

EXERCISE = "07.dk"

BUGS = {
    # the scale is applied twice: ds carries it and is multiplied with q_tile, which is scaled
    # already (the result is the right one times scale)
    "grad_k_scaled_q": {"scaled-twice"},
}
RIGHT = ["grad_k_distributed"]


def grad_k_scaled_q(q, k, v, do, lse, delta, block_m, block_n):
    """The scale goes into the tile of q once it is loaded."""
    dk, scale = torch.zeros(len(k), k.shape[1]), q.shape[1] ** -0.5
    for j in range(0, len(k), block_n):
        k_tile, v_tile = k[j : j + block_n].float(), v[j : j + block_n].float()
        total = torch.zeros_like(k_tile)
        for i in range(0, len(q), block_m):
            rows = slice(i, i + block_m)
            q_tile, do_tile = q[rows].float() * scale, do[rows].float()
            p = torch.exp(q_tile @ k_tile.T - lse[rows, None])
            ds = p * (do_tile @ v_tile.T - delta[rows, None]) * scale
            total += ds.T @ q_tile
        dk[j : j + block_n] = total
    return dk


def grad_k_distributed(q, k, v, do, lse, delta, block_m, block_n):
    """(P o dP)^T Q - P^T (Delta Q), the second product with Delta already inside Q."""
    n_q, n_k, width = q.shape[0], k.shape[0], q.shape[1]
    strips = []
    for j in range(0, n_k, block_n):
        kt = k[j : j + block_n].float()
        vt = v[j : j + block_n].float()
        with_dp = torch.zeros(kt.shape[0], width)
        with_delta = torch.zeros(kt.shape[0], width)
        i = 0
        while i < n_q:
            step = min(block_m, n_q - i)
            qt = q.narrow(0, i, step).float()
            pt = torch.exp(kt @ qt.t() / width**0.5 - lse[i : i + step])  # [keys, rows]
            dpt = vt @ do.narrow(0, i, step).float().t()
            with_dp = with_dp + (pt * dpt) @ qt
            with_delta = with_delta + pt @ (delta[i : i + step].unsqueeze(1) * qt)
            i += step
        strips.append((with_dp - with_delta) / width**0.5)
    return torch.cat(strips) if strips else torch.zeros(0, width)
