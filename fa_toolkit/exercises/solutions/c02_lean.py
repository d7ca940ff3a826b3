"""Solution of 02.lean."""

# mypy: allow-untyped-defs


# cell
def softmax_and_output(hbm, block):
    """From "S" [N, N] and "V" [N, D] to "O" [N, D], `block` rows of S at a time."""
    # stub: raise NotImplementedError  # remove this line: what follows is right, and moves too much
    n, _ = hbm.shape("S")
    for i in range(0, n, block):
        # solution:begin fix
        # stub: m = hbm.load("S", i, i + block).amax(1, keepdim=True)
        # stub: total = (hbm.load("S", i, i + block) - m).exp().sum(1, keepdim=True)
        # stub: hbm.store("P", i, (hbm.load("S", i, i + block) - m).exp() / total)
        s = hbm.load("S", i, i + block)
        p = (s - s.amax(1, keepdim=True)).exp()
        hbm.store("O", i, p / p.sum(1, keepdim=True) @ hbm.load("V", 0, n))
        # solution:end
    # stub: for i in range(0, n, block):
    # stub:     hbm.store("O", i, hbm.load("P", i, i + block) @ hbm.load("V", 0, n))
