"""04.ranges, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: F401
import torch

EXERCISE = "04.ranges"

BUGS = {
    # returns the position of the last visible key as an exclusive stop: one too few, the + 1 is
    # missing
    "stop_of_last_row": {"off-by-one"},
}
RIGHT = []


def stop_of_last_row(start_m, stop_m, len_q, len_k):
    """The last row of the block sees furthest."""
    last = min(stop_m, len_q) - 1
    position = last + len_k - len_q
    return min(max(position, 0), len_k)
