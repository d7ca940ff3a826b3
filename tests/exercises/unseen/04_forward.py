"""04.forward, from its specification alone."""

# mypy: ignore-errors
# ruff: noqa: E741  (l is the denominator's name on every floor)
import math

import torch

EXERCISE = "04.forward"

BUGS = {
    "forgets_the_new_maximum": {"maximum-not-kept"},
    "weights_against_the_old_maximum": {"old-maximum"},
    "scales_twice": {"scale-1-over-d"},
    "softmax_of_each_block": {"tile-normalised"},
    "values_of_the_query_block": {"same-values"},
    "sum_before_the_maximum": {"factor-on-the-sum"},
}
RIGHT = ["with_einsum", "in_place_and_backwards", "powers_of_two_in_float64"]


def _tiles(q, k, v, block_m, block_n, step):
    """o and lse with `step(m, l, acc, s, v_tile)` for each tile of keys."""
    o, lse = torch.zeros(len(q), v.shape[1], dtype=q.dtype), torch.full([len(q)], -math.inf)
    for i in range(0, len(q), block_m):
        q_tile = q[i : i + block_m].float() / math.sqrt(q.shape[1])
        m = torch.full([len(q_tile)], -math.inf)
        l, acc = torch.zeros(len(q_tile)), torch.zeros(len(q_tile), v.shape[1])
        for j in range(0, len(k), block_n):
            s = q_tile @ k[j : j + block_n].float().T
            m, l, acc = step(m, l, acc, s, v[j : j + block_n].float())
        if len(k):
            o[i : i + block_m] = (acc / l[:, None]).to(q.dtype)
            lse[i : i + block_m] = m + torch.log(l)
    return o, lse


def forgets_the_new_maximum(q, k, v, block_m, block_n):
    def step(m, l, acc, s, v_tile):
        m_new = torch.maximum(m, s.max(dim=1).values)
        p = torch.exp(s - m_new[:, None])
        alpha = torch.exp(m - m_new)
        l = alpha * l + p.sum(dim=1)
        acc = alpha[:, None] * acc + p @ v_tile
        return m, l, acc

    return _tiles(q, k, v, block_m, block_n, step)


def weights_against_the_old_maximum(q, k, v, block_m, block_n):
    def step(m, l, acc, s, v_tile):
        p = torch.exp(s - m[:, None])
        m_new = torch.maximum(m, s.max(dim=1).values)
        alpha = torch.exp(m - m_new)
        l = alpha * l + p.sum(dim=1)
        acc = alpha[:, None] * acc + p @ v_tile
        return m_new, l, acc

    return _tiles(q, k, v, block_m, block_n, step)


def scales_twice(q, k, v, block_m, block_n):
    def step(m, l, acc, s, v_tile):
        s = s / math.sqrt(q.shape[1])
        m_new = torch.maximum(m, s.max(dim=1).values)
        p = torch.exp(s - m_new[:, None])
        alpha = torch.exp(m - m_new)
        return m_new, alpha * l + p.sum(dim=1), alpha[:, None] * acc + p @ v_tile

    return _tiles(q, k, v, block_m, block_n, step)


def softmax_of_each_block(q, k, v, block_m, block_n):
    def step(m, l, acc, s, v_tile):
        m_new = torch.maximum(m, s.max(dim=1).values)
        p = torch.exp(s - m_new[:, None])
        alpha = torch.exp(m - m_new)
        l = alpha * l + p.sum(dim=1)
        p = p / p.sum(dim=1, keepdim=True)
        return m_new, l, alpha[:, None] * acc + p @ v_tile

    return _tiles(q, k, v, block_m, block_n, step)


def values_of_the_query_block(q, k, v, block_m, block_n):
    seen = {"j": 0}

    def step(m, l, acc, s, v_tile):
        m_new = torch.maximum(m, s.max(dim=1).values)
        p = torch.exp(s - m_new[:, None])
        alpha = torch.exp(m - m_new)
        wrong = v[: s.shape[1]].float()
        seen["j"] += 1
        return m_new, alpha * l + p.sum(dim=1), alpha[:, None] * acc + p @ wrong

    return _tiles(q, k, v, block_m, block_n, step)


def sum_before_the_maximum(q, k, v, block_m, block_n):
    def step(m, l, acc, s, v_tile):
        m_new = torch.maximum(m, s.max(dim=1).values)
        alpha = torch.exp(m - m_new)
        p = torch.exp(s - m_new[:, None])
        l = alpha * (l + p.sum(dim=1))
        return m_new, l, alpha[:, None] * acc + p @ v_tile

    return _tiles(q, k, v, block_m, block_n, step)


def with_einsum(q, k, v, block_m, block_n):
    def step(m, l, acc, s, v_tile):
        m_new = torch.stack([m, s.amax(1)]).amax(0)
        p = torch.exp(s - m_new.unsqueeze(1))
        alpha = torch.exp(m - m_new)
        acc = torch.einsum("r,rd->rd", alpha, acc) + torch.einsum("rk,kd->rd", p, v_tile)
        return m_new, alpha * l + torch.einsum("rk->r", p), acc

    return _tiles(q, k, v, block_m, block_n, step)


def in_place_and_backwards(q, k, v, block_m, block_n):
    o, lse = torch.zeros(len(q), v.shape[1], dtype=q.dtype), torch.full([len(q)], -math.inf)
    starts = list(range(0, len(k), block_n))[::-1]
    for i in reversed(range(0, len(q), block_m)):
        rows = slice(i, i + block_m)
        m = torch.full([len(q[rows])], -math.inf)
        l, acc = torch.zeros_like(m), torch.zeros(len(m), v.shape[1])
        for j in starts:
            s = (q[rows].float() @ k[j : j + block_n].float().T).mul_(q.shape[1] ** -0.5)
            new = m.maximum(s.amax(1))
            l.mul_((m - new).exp())
            acc.mul_((m - new).exp()[:, None])
            s.sub_(new[:, None]).exp_()
            l.add_(s.sum(1))
            acc.addmm_(s, v[j : j + block_n].float())
            m.copy_(new)
        if starts:
            o[rows] = acc.div_(l[:, None]).to(o.dtype)
            lse[rows] = m.add_(l.log())
    return o, lse


def powers_of_two_in_float64(q, k, v, block_m, block_n):
    o, lse = torch.zeros(len(q), v.shape[1], dtype=q.dtype), torch.full([len(q)], -math.inf)
    x = q.double() * (q.shape[1] ** -0.5 / math.log(2))
    for i in range(0, len(q), block_m):
        rows = slice(i, i + block_m)
        state = (x.new_full([len(q[rows])], -math.inf), x.new_zeros(len(q[rows])), 0.0)
        for j in range(0, len(k), block_n):
            m, l, acc = state
            s = x[rows] @ k[j : j + block_n].double().T
            new = torch.maximum(m, s.max(1)[0])
            alpha, p = torch.exp2(m - new), torch.exp2(s - new[:, None])
            acc = alpha[:, None] * acc + p @ v[j : j + block_n].double()
            state = (new, alpha * l + p.sum(1), acc)
        m, l, acc = state
        if len(k):
            o[rows] = (acc / l[:, None]).to(q.dtype)
            lse[rows] = ((m + l.log2()) * math.log(2)).float()
    return o, lse
