"""Solution of 09.pages."""

# mypy: allow-untyped-defs
import torch


# cell
def gather_pages(pages, table, length):
    """The first `length` tokens of one sequence, [Hkv, length, D], from [blocks, page, Hkv, D]."""
    # solution:begin
    page, t = pages.shape[1], torch.arange(length, device=pages.device)
    return pages[table[t // page].long(), t % page].transpose(0, 1)
    # solution:end
