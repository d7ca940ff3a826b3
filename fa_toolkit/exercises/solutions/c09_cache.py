"""Solution of 09.cache."""
# mypy: allow-untyped-defs


# cell
def cache_bill(layers, heads_q, heads_kv, head_dim, tokens, itemsize):
    """Bytes of the cache of one sequence, and FLOPs per byte of one decoding step."""
    # solution:begin
    held = layers * heads_kv * tokens * 2 * head_dim * itemsize  # K and V
    flops = layers * heads_q * tokens * 4 * head_dim  # two products, two FLOPs a term
    return held, flops / held
    # solution:end
