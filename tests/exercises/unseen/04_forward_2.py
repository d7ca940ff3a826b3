"""04.forward, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E741
import math

import torch

EXERCISE = "04.forward"

BUGS = {
    # lse = m + ln l mixes units: m is in base two and is not multiplied by ln 2 (o is right)
    "forward_exp2": {"lse-base-mixed"},
}
RIGHT = ["forward_backwards"]


def forward_exp2(q, k, v, block_m, block_n):
    """Scores in base two, so that exp2 can be used."""
    log2e = math.log2(math.e)
    o, lse = q.new_zeros(len(q), v.shape[1]), torch.full([len(q)], -torch.inf)
    for i in range(0, len(q), block_m):
        rows = slice(i, min(i + block_m, len(q)))
        q_tile = q[rows].float() * (q.shape[1] ** -0.5 * log2e)
        m = torch.full([len(q_tile)], -torch.inf)
        l, acc = torch.zeros(len(q_tile)), torch.zeros(len(q_tile), v.shape[1])
        for j in range(0, len(k), block_n):
            s = q_tile @ k[j : j + block_n].float().T
            m_new = torch.maximum(m, s.amax(1))
            alpha, p = torch.exp2(m - m_new), torch.exp2(s - m_new[:, None])
            l = l * alpha + p.sum(1)
            acc = acc * alpha[:, None] + p @ v[j : j + block_n].float()
            m = m_new
        o[rows] = (acc / torch.where(l == 0, 1.0, l)[:, None]).to(q.dtype)
        lse[rows] = m + torch.log(l)
    return o, lse


def forward_backwards(q, k, v, block_m, block_n):
    """Keys from the last block to the first, tiles transposed (keys down, queries across)."""
    n_q, n_k = q.shape[0], k.shape[0]
    if n_k == 0:
        return torch.zeros(n_q, v.shape[1], dtype=q.dtype), torch.full((n_q,), -math.inf)
    root = math.sqrt(q.shape[1])
    outs, sums = [q.new_empty(0, v.shape[1])], [torch.empty(0)]
    for q_tile in q.split(block_m):
        x = (q_tile.float() / root).t()
        m = l = acc = None
        for k_tile, v_tile in reversed(list(zip(k.split(block_n), v.split(block_n), strict=True))):
            s = k_tile.float() @ x
            top = s.max(dim=0)[0]
            e = torch.exp(s - top)
            if m is None:
                m, l, acc = top, e.sum(0), v_tile.float().t() @ e
                continue
            d = top - m
            old, new = torch.exp(-d.clamp(min=0)), torch.exp(d.clamp(max=0))
            l = l * old + e.sum(0) * new
            acc = acc * old + (v_tile.float().t() @ e) * new
            m = m + d.clamp(min=0)
        outs.append((acc / l).t().to(q.dtype))
        sums.append(m + l.log())
    return torch.cat(outs), torch.cat(sums)
