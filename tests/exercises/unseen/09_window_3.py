"""09.window, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: F401
import torch

EXERCISE = "09.window"

BUGS = {
    # The first visible key is start_m + shift - window + 1; the + 1 is missing, so a tile too
    # many is visited whenever that key begins a tile.
    "window_newt": {"one-too-far"},
}
RIGHT = []


def window_newt(start_m, stop_m, len_q, len_k, window, block_n):
    """(start, stop) of the tiles that rows [start_m, stop_m) visit."""
    shift = len_k - len_q
    last = min(stop_m, len_q) - 1
    if last < start_m:
        return 0, 0
    stop = min(len_k, last + shift + 1)
    if stop <= 0:
        return 0, 0
    lowest = max(0, start_m + shift - window)
    return lowest // block_n * block_n, stop
