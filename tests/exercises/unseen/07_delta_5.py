"""07.delta, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
import torch

EXERCISE = "07.delta"


def delta_sum32(o, do):
    """Delta [..., Nq] in float32: for each row the sum of do * o."""
    prod = o * do
    return prod.sum(dim=-1, dtype=torch.float32)


BUGS = {
    # the product o * do is formed in the input dtype and only the sum is in float32: half-
    # precision inputs are rounded (or overflow) before they are added.
    "delta_sum32": {"half-products"},
}
RIGHT = ()
