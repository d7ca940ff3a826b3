"""09.window row by row: the mistakes of this way of writing are looked for too."""
# mypy: allow-untyped-defs


# cell
def window_range(start_m, stop_m, len_q, len_k, window, block_n):
    diagonal = len_k - len_q
    rows = range(start_m, min(stop_m, len_q))
    keys = [j for i in rows for j in range(len_k) if i + diagonal - window < j <= i + diagonal]
    if not keys:
        return 0, 0
    return min(keys) // block_n * block_n, max(keys) + 1
