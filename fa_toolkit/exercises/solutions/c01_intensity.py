"""Solution of 01.intensity."""
# mypy: allow-untyped-defs


# cell
def matmul_cost(m, n, k, itemsize):
    """FLOPs, HBM bytes and FLOP per byte of C = A @ B, with A [m, k] and B [k, n]."""
    # solution:begin
    flops = 2 * m * n * k
    moved = (m * k + k * n + m * n) * itemsize
    return flops, moved, flops / moved
    # solution:end
