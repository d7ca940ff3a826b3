"""07.delta, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors

EXERCISE = "07.delta"


def dot_of_rows(o, do):
    return (o * do).sum(dim=-1).float()


BUGS = {
    # The product and the sum are taken in the dtype of o and only the result becomes float32; in
    # half precision Delta is rounded.
    "dot_of_rows": {"half-sum"},
}
RIGHT = ()
