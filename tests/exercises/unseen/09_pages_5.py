"""09.pages, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
EXERCISE = "09.pages"


def gather_reshaped(pages, table, length):
    """The first `length` tokens of one sequence, [Hkv, length, D], from [blocks, page, Hkv, D]."""
    _, page, heads, d = pages.shape
    needed = (length + page - 1) // page
    mine = pages[table[:needed].long()]  # [needed, page, Hkv, D]
    tokens = mine.reshape(needed * page, heads, d)[:length]
    return tokens.reshape(heads, length, d)


BUGS = {
    # [length, Hkv, D] is reshaped to [Hkv, length, D] instead of having its first two axes
    # swapped, so tokens and heads are mixed as soon as both are more than one.
    "gather_reshaped": {"reshaped"},
}
RIGHT = ()
