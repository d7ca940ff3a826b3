"""Solution of 09.window."""
# mypy: allow-untyped-defs


# cell
def window_range(start_m, stop_m, len_q, len_k, window, block_n):
    """Rows [start_m, stop_m), causal with a window: first tile to visit, last visible key + 1."""
    # solution:begin
    first = start_m + len_k - len_q  # key position of the first row
    last = min(stop_m, len_q) - 1 + len_k - len_q  # and of the last
    if last < 0:
        return 0, 0
    low = max(0, first - window + 1)
    return low - low % block_n, min(last + 1, len_k)
    # solution:end
