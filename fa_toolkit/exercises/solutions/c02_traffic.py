"""Solution of 02.traffic."""
# mypy: allow-untyped-defs


# cell
def standard_bytes(n, d, itemsize):
    """Bytes read plus written by each phase: scores, softmax, output."""
    # solution:begin
    scores = (n * d + n * d + n * n) * itemsize
    softmax = (n * n + n * n) * itemsize
    output = (n * n + n * d + n * d) * itemsize
    return scores, softmax, output
    # solution:end
