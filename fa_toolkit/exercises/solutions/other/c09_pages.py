"""09.pages page by page: the mistakes of this way of writing are looked for too."""

# mypy: allow-untyped-defs
import torch


# cell
def gather_pages(pages, table, length):
    page, parts = pages.shape[1], []
    for t in range(0, length, page):
        stop = min(page, length - t)
        parts.append(pages[int(table[t // page]), 0:stop])
    if not parts:
        return pages.new_zeros(pages.shape[2], 0, pages.shape[3])
    return torch.cat(parts, 0).transpose(0, 1)
