"""04.causal, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "04.causal"

BUGS = {
    # whether a tile needs the mask is decided by the last row of the block (should be the first,
    # i + diagonal): tiles that cross the diagonal left of the last row go unmasked
    "causal_full_tiles": {"cut-tile-unmasked"},
}
RIGHT = ["causal_from_the_diagonal"]


def causal_full_tiles(q, k, v, block_m, block_n):
    """Tiles that are visible as a whole go without a mask."""
    diagonal = len(k) - len(q)
    o, lse = q.new_zeros(len(q), v.shape[1]), torch.full([len(q)], -torch.inf)
    for i in range(0, len(q), block_m):
        q_tile = q[i : i + block_m].float() * q.shape[1] ** -0.5
        rows = torch.arange(i, i + len(q_tile))
        m = torch.full([len(q_tile)], -torch.inf)
        l, acc = torch.zeros(len(q_tile)), torch.zeros(len(q_tile), v.shape[1])
        stop = max(0, min(len(k), i + len(q_tile) + diagonal))
        for j in range(0, stop, block_n):
            last_key = min(j + block_n, len(k)) - 1
            s = q_tile @ k[j : last_key + 1].float().T
            if last_key > i + len(q_tile) - 1 + diagonal:
                cols = torch.arange(j, last_key + 1)
                s = s.masked_fill(cols[None, :] > rows[:, None] + diagonal, -torch.inf)
            m_new = torch.maximum(m, s.amax(1))
            pivot = torch.where(m_new == -torch.inf, 0.0, m_new)
            alpha, p = (m - pivot).exp(), (s - pivot[:, None]).exp()
            l = l * alpha + p.sum(1)
            acc = acc * alpha[:, None] + p @ v[j : last_key + 1].float()
            m = m_new
        o[i : i + block_m] = (acc / torch.where(l == 0, 1.0, l)[:, None]).to(q.dtype)
        lse[i : i + block_m] = m + l.log()
    return o, lse


def causal_from_the_diagonal(q, k, v, block_m, block_n):
    """From the diagonal leftwards; dead rows are cut off before any tile is made."""
    n_q, n_k = q.size(0), k.size(0)
    dead = min(n_q, max(0, n_q - n_k))
    o = torch.zeros((n_q, v.size(1)), dtype=q.dtype)
    lse = torch.full((n_q,), float("-inf"))
    for lo in range(dead, n_q, block_m):
        hi = min(n_q, lo + block_m)
        x = q[lo:hi].to(torch.float32)
        end = hi - n_q + n_k
        den = torch.zeros(hi - lo, 1)
        num = torch.zeros(hi - lo, v.size(1))
        top = torch.full((hi - lo, 1), -1.0e35)
        while end > 0:
            begin = max(0, end - block_n)
            t = torch.matmul(x, k[begin:end].to(torch.float32).t()).div_(q.size(1) ** 0.5)
            edge = begin - (lo - n_q + n_k)
            allowed = torch.ones_like(t, dtype=torch.bool).tril(-edge)
            best = torch.maximum(top, t.masked_fill(~allowed, -1.0e35).amax(1, keepdim=True))
            w = torch.exp(torch.where(allowed, t - best, -torch.inf))
            f = torch.exp(top - best)
            den, num = (
                den * f + w.sum(1, keepdim=True),
                num * f + w @ v[begin:end].to(torch.float32),
            )
            top, end = best, begin
        o[lo:hi] = (num / den).to(q.dtype)
        lse[lo:hi] = (top + den.log()).squeeze(1)
    return o, lse
