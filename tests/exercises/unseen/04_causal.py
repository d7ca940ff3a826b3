"""04.causal, from its specification alone."""

# mypy: ignore-errors
# ruff: noqa: E741  (l is the denominator's name on every floor)
import math

import torch

EXERCISE = "04.causal"

BUGS = {
    "denominator_without_mask": {"denominator-unmasked"},
    "offset_turned_round": {"diagonal-reversed"},
    "stop_rounded_down": {"diagonal-tile-skipped", "tail-dropped"},
    "greater_or_equal": {"own-key-hidden"},
    "a_million_below": {"finite-mask"},
    "rows_not_shifted": {"mask-within-tile"},
    "lse_from_where": {"dead-lse-zero"},
}
RIGHT = ["keys_from_the_end", "one_row_and_one_key"]


def _walk(
    q, k, v, block_m, block_n, *, hide, stop=None, diagonal=None, value=-math.inf, local=False
):
    d = len(k) - len(q) if diagonal is None else diagonal
    o, lse = torch.zeros(len(q), v.shape[1], dtype=q.dtype), torch.full([len(q)], -math.inf)
    for i in range(0, len(q), block_m):
        x = q[i : i + block_m].float() * q.shape[1] ** -0.5
        rows = torch.arange(len(x)) + (0 if local else i)
        m = torch.full([len(x)], -math.inf)
        l, acc = torch.zeros(len(x)), torch.zeros(len(x), v.shape[1])
        end = min(len(k), max(0, i + len(x) + d))
        for j in range(0, end if stop is None else stop(end, block_n), block_n):
            s = x @ k[j : j + block_n].float().T
            cols = torch.arange(j, j + s.shape[1])
            s = s.masked_fill(hide(rows[:, None] + d, cols), value)
            m_new = torch.maximum(m, s.amax(1))
            safe = m_new.masked_fill(m_new == -math.inf, 0.0)
            alpha, p = torch.exp(m - safe), torch.exp(s - safe[:, None])
            l, acc, m = (
                alpha * l + p.sum(1),
                alpha[:, None] * acc + p @ v[j : j + block_n].float(),
                m_new,
            )
        some = l > 0
        o[i : i + block_m][some] = (acc[some] / l[some, None]).to(q.dtype)
        lse[i : i + block_m][some] = m[some] + l[some].log()
    return o, lse


def later(position, cols):
    return cols > position


def denominator_without_mask(q, k, v, block_m, block_n):
    d = len(k) - len(q)
    o, lse = torch.zeros(len(q), v.shape[1], dtype=q.dtype), torch.full([len(q)], -math.inf)
    for i in range(0, len(q), block_m):
        x = q[i : i + block_m].float() * q.shape[1] ** -0.5
        rows = torch.arange(i, i + len(x))
        m = torch.full([len(x)], -math.inf)
        l, acc = torch.zeros(len(x)), torch.zeros(len(x), v.shape[1])
        for j in range(0, min(len(k), max(0, i + len(x) + d)), block_n):
            s = x @ k[j : j + block_n].float().T
            m_new = torch.maximum(m, s.amax(1))
            alpha, p = torch.exp(m - m_new), torch.exp(s - m_new[:, None])
            l = alpha * l + p.sum(1)
            p = p * (torch.arange(j, j + s.shape[1]) <= rows[:, None] + d)
            acc = alpha[:, None] * acc + p @ v[j : j + block_n].float()
            m = m_new
        some = l > 0
        o[i : i + block_m][some] = (acc[some] / l[some, None]).to(q.dtype)
        lse[i : i + block_m][some] = m[some] + l[some].log()
    return o, lse


def offset_turned_round(q, k, v, block_m, block_n):
    return _walk(q, k, v, block_m, block_n, hide=later, diagonal=len(q) - len(k))


def stop_rounded_down(q, k, v, block_m, block_n):
    return _walk(q, k, v, block_m, block_n, hide=later, stop=lambda end, n: end // n * n)


def greater_or_equal(q, k, v, block_m, block_n):
    return _walk(q, k, v, block_m, block_n, hide=lambda position, cols: cols >= position)


def a_million_below(q, k, v, block_m, block_n):
    return _walk(q, k, v, block_m, block_n, hide=later, value=-1e6)


def rows_not_shifted(q, k, v, block_m, block_n):
    return _walk(q, k, v, block_m, block_n, hide=later, local=True)


def lse_from_where(q, k, v, block_m, block_n):
    o, lse = _walk(q, k, v, block_m, block_n, hide=later)
    return o, torch.where(torch.isinf(lse), torch.zeros_like(lse), lse)


def keys_from_the_end(q, k, v, block_m, block_n):
    o, lse = q.new_zeros(len(q), v.shape[1]), torch.full([len(q)], -math.inf)
    position = torch.arange(len(q)) + len(k) - len(q)
    for i in range(0, len(q), block_m):
        x = q[i : i + block_m].float()
        m = torch.full([len(x), 1], -math.inf)
        l, acc = torch.zeros(len(x), 1), torch.zeros(len(x), v.shape[1])
        starts = [j for j in range(0, len(k), block_n) if j <= position[i : i + block_m].max()]
        for j in reversed(starts):
            s = torch.einsum("id,jd->ij", x, k[j : j + block_n].float()) / math.sqrt(q.shape[1])
            keep = torch.arange(j, j + s.shape[1]) <= position[i : i + block_m, None]
            s = torch.where(keep, s, -math.inf)
            new = torch.maximum(m, s.amax(1, keepdim=True))
            base = torch.nan_to_num(new, neginf=0.0)
            alpha, p = (m - base).exp(), (s - base).exp()
            l, acc, m = (
                l * alpha + p.sum(1, keepdim=True),
                acc * alpha + p @ v[j : j + block_n].float(),
                new,
            )
        o[i : i + block_m] = torch.nan_to_num(acc / l, nan=0.0).to(q.dtype)
        lse[i : i + block_m] = (m + l.log())[:, 0]
    return o, lse


def one_row_and_one_key(q, k, v, block_m, block_n):
    o, lse = torch.zeros(len(q), v.shape[1], dtype=q.dtype), torch.full([len(q)], -math.inf)
    for i in range(len(q)):
        m, l, acc = -math.inf, 0.0, torch.zeros(v.shape[1], dtype=torch.float64)
        for j in range(min(len(k), i + len(k) - len(q) + 1)):
            s = float(q[i].double() @ k[j].double()) / math.sqrt(q.shape[1])
            new = max(m, s)
            l, acc = l * math.exp(m - new), acc * math.exp(m - new)
            l, acc, m = l + math.exp(s - new), acc + math.exp(s - new) * v[j].double(), new
        if l:
            o[i], lse[i] = (acc / l).to(q.dtype), m + math.log(l)
    return o, lse
