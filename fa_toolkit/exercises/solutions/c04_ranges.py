"""Solution of 04.ranges."""
# mypy: allow-untyped-defs


# cell
def visible_stop(start_m, stop_m, len_q, len_k):
    """Rows [start_m, stop_m) see keys [0, stop) under the bottom-right causal mask: stop."""
    # solution:begin
    last = min(stop_m, len_q) - 1 + len_k - len_q  # key position of the last row
    return max(0, min(last + 1, len_k))
    # solution:end
