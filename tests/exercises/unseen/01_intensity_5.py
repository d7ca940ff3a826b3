"""01.intensity, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
EXERCISE = "01.intensity"


def matmul_cost_counted(m, n, k, itemsize):
    """Cost of C = A @ B: every entry of C is a dot product of length k."""
    per_entry = k + (k - 1)  # k multiplications, k - 1 additions
    flops = m * n * per_entry
    a, b, c = m * k, k * n, m * n
    moved = (a + b + c) * itemsize
    return flops, moved, flops / moved


BUGS = {
    # FLOPs are m·n·(2k − 1), additions counted as k − 1; a multiply-add is two, so it must be
    # 2·m·n·k (the intensity follows the wrong FLOPs).
    "matmul_cost_counted": {"one-addition-less"},
}
RIGHT = ()
