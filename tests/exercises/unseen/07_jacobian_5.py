"""07.jacobian, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
import torch

EXERCISE = "07.jacobian"


def softmax_backward_diag(p, dp):
    """Gradient of the scores [M, N], from the rows p of a softmax and the gradient dp of p."""
    derivative = p * (1 - p)
    return derivative * dp


def softmax_backward_project(p, dp):
    """Gradient of the scores [M, N]: send dp through the diagonal, then take the mean part out again."""
    through = torch.mul(p, dp)
    totals = torch.stack([row.sum() for row in through]) if len(p) else through.new_zeros(0)
    return torch.addcmul(through, p, totals.unsqueeze(-1), value=-1)


BUGS = {
    # only the diagonal of the Jacobian is used, ds_k = p_k (1 - p_k) dp_k; the terms -p_j p_k
    # dp_j of the other entries of the row are missing.
    "softmax_backward_diag": {"jacobian-diagonal"},
}
RIGHT = ("softmax_backward_project",)
