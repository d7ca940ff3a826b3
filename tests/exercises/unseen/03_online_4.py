"""03.online, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "03.online"


def update_in_order(x, block):
    m, l = torch.tensor(-torch.inf), torch.tensor(0.0)
    for start in range(0, len(x), block):
        part = x[start : start + block]
        m = torch.maximum(m, part.max())
        if m == -torch.inf:
            continue
        l = l * torch.exp(m - m) + torch.exp(part - m).sum()
    return m, l


BUGS = {
    # m is overwritten with the new maximum before the factor is computed, so the factor is e^(m -
    # m) = 1 and the old l is never rescaled.
    "update_in_order": {"no-rescale"},
}
RIGHT = ()
