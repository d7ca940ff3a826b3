"""04.square, from its specification alone."""

# mypy: ignore-errors
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch

EXERCISE = "04.square"

BUGS = {
    "counts_rows_of_tiles": {"rows-counted"},
    "skips_nothing": {"every-tile"},
    "mask_above_and_on": {"own-key-hidden"},
}
RIGHT = ["mask_as_an_addend"]


def _walk(q, k, v, block, *, hide, every=False, count="tiles"):
    o, tiles = torch.zeros(len(q), v.shape[1]), 0
    for i in range(0, len(q), block):
        x = q[i : i + block].float() / q.shape[1] ** 0.5
        m = torch.full([len(x)], -torch.inf)
        l, acc = torch.zeros(len(x)), torch.zeros(len(x), v.shape[1])
        for j in range(0, len(k), block):
            if j > i and not every:
                break
            s = x @ k[j : j + block].float().T
            rows, cols = torch.arange(i, i + len(x))[:, None], torch.arange(j, j + s.shape[1])
            s = s.masked_fill(hide(rows, cols), -torch.inf)
            new = torch.maximum(m, s.amax(1))
            base = torch.nan_to_num(new, neginf=0.0)
            alpha, p = (m - base).exp(), (s - base[:, None]).exp()
            l, acc, m = (
                alpha * l + p.sum(1),
                alpha[:, None] * acc + p @ v[j : j + block].float(),
                new,
            )
            tiles += count == "tiles"
        tiles += count == "rows"
        o[i : i + block] = acc / l[:, None]
    return o, tiles


def counts_rows_of_tiles(q, k, v, block):
    return _walk(q, k, v, block, hide=lambda r, c: c > r, count="rows")


def skips_nothing(q, k, v, block):
    return _walk(q, k, v, block, hide=lambda r, c: c > r, every=True)


def mask_above_and_on(q, k, v, block):
    o, tiles = _walk(q, k, v, block, hide=lambda r, c: c >= r)
    return o.nan_to_num(0.0), tiles


def mask_as_an_addend(q, k, v, block):
    o, tiles = torch.empty(len(q), v.shape[1]), 0
    for number, x in enumerate(q.split(block)):
        s = torch.empty(len(x), 0)
        for k_tile in k.split(block)[: number + 1]:
            s = torch.cat([s, x @ k_tile.T / q.shape[1] ** 0.5], 1)
            tiles += 1
        s = s + torch.full_like(s, -torch.inf).triu(number * block + 1)
        p = torch.exp(s - s.amax(1, keepdim=True))
        o[number * block :][: len(x)] = p @ v[: s.shape[1]] / p.sum(1, keepdim=True)
    return o, tiles
