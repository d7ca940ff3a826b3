"""09.window, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
EXERCISE = "09.window"


def window_range_back(start_m, stop_m, len_q, len_k, window, block_n):
    """Rows [start_m, stop_m), causal with a window: first tile to visit, last visible key + 1."""
    diagonal = len_k - len_q
    first_row = start_m
    last_row = min(stop_m, len_q) - 1
    if last_row < first_row:
        return 0, 0
    stop = min(len_k, last_row + diagonal + 1)
    first_key = max(0, first_row + diagonal - window)
    if stop <= 0:
        return 0, 0
    return first_key // block_n * block_n, stop


def window_range_listed(start_m, stop_m, len_q, len_k, window, block_n):
    """Rows [start_m, stop_m), causal with a window: first tile to visit, last visible key + 1."""
    shift = len_k - len_q
    seen = [
        key
        for row in range(start_m, stop_m)
        if row < len_q
        for key in range(row + shift + 1 - window, row + shift + 1)
        if 0 <= key < len_k
    ]
    if not seen:
        return (0, 0)
    lowest = min(seen)
    return (lowest - lowest % block_n, max(seen) + 1)


BUGS = {
    # the first visible key is taken as row + diagonal - window; the window holds the row's own
    # key, so it is row + diagonal - window + 1 and start can be one tile too early.
    "window_range_back": {"one-too-far"},
}
RIGHT = ("window_range_listed",)
