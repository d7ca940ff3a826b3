"""07.jacobian, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors

EXERCISE = "07.jacobian"


def through_softmax(p, dp):
    """The derivative of the softmax times what arrives."""
    return dp * p * (1 - p)


BUGS = {
    # Only the diagonal p_j (1 - p_j) of the Jacobian is used, as for a sigmoid; the cross terms
    # -p_j p_k are missing (should be p * (dp - sum(p * dp))).
    "through_softmax": {"jacobian-diagonal"},
}
RIGHT = ()
