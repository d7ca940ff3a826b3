"""03.online, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "03.online"

BUGS = {
    # in the branch without a new maximum the block is summed against its own maximum top, not
    # against the running maximum m
    "online_branches": {"tile-maximum"},
}
RIGHT = []


def online_branches(x, block):
    """Rescale only when the block brings a new maximum."""
    m, l = torch.tensor(-torch.inf), torch.tensor(0.0)
    for start in range(0, len(x), block):
        part = x[start : start + block].float()
        top = part.max()
        if top == -torch.inf:
            continue
        if top > m:
            l = l * torch.exp(m - top) + torch.exp(part - top).sum()
            m = top
        else:
            l = l + torch.exp(part - top).sum()
    return m, l
