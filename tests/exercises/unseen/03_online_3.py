"""03.online, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "03.online"

BUGS = {
    # A block that holds nothing but -inf ends the walk (break instead of continue), so every
    # block behind it is lost.
    "online_dog": {"dead-block-ends"},
}
RIGHT = []


def online_dog(x, block):
    """m and l of a row; blocks that are all -inf need no work."""
    m, l = torch.tensor(-torch.inf), torch.tensor(0.0)
    for start in range(0, len(x), block):
        part = x[start : start + block]
        top = part.max()
        if top == -torch.inf:  # nothing to see, and exp(-inf - -inf) is nan
            break
        new = torch.maximum(m, top)
        l = l * torch.exp(m - new) + torch.exp(part - new).sum()
        m = new
    return m, l
