"""07.delta, from its specification alone: the mistakes learners make most, and right answers."""

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
