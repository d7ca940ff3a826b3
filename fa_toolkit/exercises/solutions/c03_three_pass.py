"""Solution of 03.three_pass."""
# mypy: allow-untyped-defs
# ruff: noqa: E741  (l is the denominator's name on every floor)


# cell
def three_pass_softmax(x):
    """Softmax of the row x [N]: one pass for m, one for l, one for the result."""
    # solution:begin
    m = x.max()
    l = (x - m).exp().sum()
    return (x - m).exp() / l
    # solution:end
