"""Solution of 04.lean."""

# mypy: allow-untyped-defs
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch


# cell
def lean_forward(hbm, block):
    """Attention of one head: "Q", "K", "V" [N, D] to "O" [N, D] and "lse" [N]."""
    # stub: raise NotImplementedError  # remove this line: what follows is right, and moves too much
    n, d = hbm.shape("Q")
    # solution:begin fix
    # stub: for i in range(0, n, block):
    # stub:     hbm.store("O", i, torch.zeros(block, d))
    # stub:     hbm.store("m", i, torch.full([block], -torch.inf))
    # stub:     hbm.store("l", i, torch.zeros(block))
    # stub: for j in range(0, n, block):
    # stub:     k, v = hbm.load("K", j, j + block), hbm.load("V", j, j + block)
    # stub:     for i in range(0, n, block):
    # stub:         q, acc = hbm.load("Q", i, i + block), hbm.load("O", i, i + block)
    # stub:         m, l = hbm.load("m", i, i + block), hbm.load("l", i, i + block)
    # stub:         s = q @ k.T * d**-0.5
    # stub:         m_new = torch.maximum(m, s.amax(1))
    # stub:         alpha, p = (m - m_new).exp(), (s - m_new[:, None]).exp()
    # stub:         hbm.store("O", i, acc * alpha[:, None] + p @ v)
    # stub:         hbm.store("m", i, m_new)
    # stub:         hbm.store("l", i, l * alpha + p.sum(1))
    # stub: for i in range(0, n, block):
    # stub:     acc, l = hbm.load("O", i, i + block), hbm.load("l", i, i + block)
    # stub:     hbm.store("O", i, acc / l[:, None])
    # stub:     hbm.store("lse", i, hbm.load("m", i, i + block) + l.log())
    for i in range(0, n, block):
        q = hbm.load("Q", i, i + block) * d**-0.5
        m, l, acc = torch.full([block], -torch.inf), torch.zeros(block), torch.zeros(block, d)
        for j in range(0, n, block):
            s = q @ hbm.load("K", j, j + block).T
            m_new = torch.maximum(m, s.amax(1))
            alpha, p = (m - m_new).exp(), (s - m_new[:, None]).exp()
            l = l * alpha + p.sum(1)
            acc = acc * alpha[:, None] + p @ hbm.load("V", j, j + block)
            m = m_new
        hbm.store("O", i, acc / l[:, None])
        hbm.store("lse", i, m + l.log())
    # solution:end
