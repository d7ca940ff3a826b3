"""09.pages, from its specification alone, in a third hand."""

# mypy: ignore-errors
import torch

EXERCISE = "09.pages"

BUGS = {
    # The loop runs over length // page pages, rounded down, so the tokens of the last, partly
    # filled page stay 0.
    "pages_moth": {"partial-page-lost", "tail-not-written"},
}
RIGHT = []


def pages_moth(pages, table, length):
    """Copies the sequence page after page."""
    _, page, heads, d = pages.shape
    keys = torch.zeros(heads, length, d, dtype=pages.dtype, device=pages.device)
    for n in range(length // page):
        block = pages[int(table[n])]  # [page, heads, d]
        keys[:, n * page : (n + 1) * page] = block.transpose(0, 1)
    return keys
