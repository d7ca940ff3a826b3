"""03.merge, from its specification alone, in a third hand."""

# mypy: ignore-errors
import torch

EXERCISE = "03.merge"

BUGS = {}
RIGHT = ["merge_stacked"]


def merge_stacked(a, b):
    """Both states as one stack, weights over the first axis."""
    ms, ls, accs = (torch.stack(pair) for pair in zip(a, b, strict=True))
    m = ms.amax(0)
    weights = torch.zeros_like(ms)
    alive = ms > -torch.inf
    weights[alive] = (ms - m)[alive].exp()
    return m, torch.einsum("pr,pr->r", weights, ls), torch.einsum("pr,prd->rd", weights, accs)
