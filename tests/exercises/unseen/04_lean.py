"""04.lean, from its specification alone."""

# mypy: ignore-errors
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch

EXERCISE = "04.lean"

BUGS = {"writes_o_at_every_tile": {"output-each-tile"}, "loads_q_inside": {"q-again"}}
RIGHT = ["values_first"]


def writes_o_at_every_tile(hbm, block):
    n, d = hbm.shape("Q")
    for i in range(0, n, block):
        q = hbm.load("Q", i, i + block) / d**0.5
        m, l = torch.full([block], -torch.inf), torch.zeros(block)
        acc = torch.zeros(block, d)
        for j in range(0, n, block):
            s = q @ hbm.load("K", j, j + block).T
            new = torch.maximum(m, s.amax(1))
            alpha, p = (m - new).exp(), (s - new[:, None]).exp()
            l, m = l * alpha + p.sum(1), new
            acc = acc * alpha[:, None] + p @ hbm.load("V", j, j + block)
            hbm.store("O", i, acc / l[:, None])
        hbm.store("lse", i, m + l.log())


def loads_q_inside(hbm, block):
    n, d = hbm.shape("Q")
    for i in range(0, n, block):
        m, l = torch.full([block], -torch.inf), torch.zeros(block)
        acc = torch.zeros(block, d)
        for j in range(0, n, block):
            s = hbm.load("Q", i, i + block) @ hbm.load("K", j, j + block).T / d**0.5
            new = torch.maximum(m, s.amax(1))
            alpha, p = (m - new).exp(), (s - new[:, None]).exp()
            l, m = l * alpha + p.sum(1), new
            acc = acc * alpha[:, None] + p @ hbm.load("V", j, j + block)
        hbm.store("O", i, acc / l[:, None])
        hbm.store("lse", i, m + l.log())


def values_first(hbm, block):
    n, d = hbm.shape("Q")
    for i in reversed(range(0, n, block)):
        q = hbm.load("Q", i, i + block)
        state = None
        for j in reversed(range(0, n, block)):
            v = hbm.load("V", j, j + block)
            s = torch.einsum("id,jd->ij", q, hbm.load("K", j, j + block)) / d**0.5
            m = s.amax(1)
            p = (s - m[:, None]).exp()
            part = (m, p.sum(1), p @ v)
            state = part if state is None else _both(state, part)
        m, l, acc = state
        hbm.store("lse", i, m + l.log())
        hbm.store("O", i, acc / l[:, None])


def _both(a, b):
    m = torch.maximum(a[0], b[0])
    x, y = (a[0] - m).exp(), (b[0] - m).exp()
    return m, x * a[1] + y * b[1], x[:, None] * a[2] + y[:, None] * b[2]
