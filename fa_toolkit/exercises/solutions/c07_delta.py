"""Solution of 07.delta."""
# mypy: allow-untyped-defs


# cell
def row_delta(o, do):
    """Delta [..., Nq] in float32: for each row the sum of do * o."""
    # solution:begin
    return (o.float() * do.float()).sum(-1)
    # solution:end
