"""03.rows, from its specification alone, in a second hand."""

# mypy: ignore-errors
# ruff: noqa: E741
import torch

EXERCISE = "03.rows"

BUGS = {
    # NaN of -inf - (-inf) is replaced by 0 before the exponential, so p = 1 for every hidden key
    # of a row that has seen nothing: l counts keys and acc sums v (should be p = 0)
    "fold_without_nan": {"dead-keys-counted", "hidden-counted"},
}
RIGHT = ["fold_ones_column"]


def fold_without_nan(state, s, v):
    """Rows that have seen nothing give -inf - (-inf); nan_to_num takes care of it."""
    m, l, acc = state
    m_new = torch.maximum(m, s.amax(dim=1))
    alpha = torch.exp(torch.nan_to_num(m - m_new, nan=0.0, neginf=-torch.inf))
    p = torch.exp(torch.nan_to_num(s - m_new[:, None], nan=0.0, neginf=-torch.inf))
    return m_new, alpha * l + p.sum(dim=1), torch.einsum("r,rd->rd", alpha, acc) + p @ v


def fold_ones_column(state, s, v):
    """The denominator rides along as one more column of values, all ones."""
    m, l, acc = state
    wide = torch.cat([acc, l.unsqueeze(1)], dim=1)
    peak = torch.stack([m, *s.unbind(1)]).max(dim=0).values
    shift = torch.where(peak > -torch.inf, peak, torch.zeros_like(peak))
    values = torch.cat([v, v.new_ones(v.shape[0], 1)], dim=1)
    lhs = torch.cat([(m - shift).exp().diag_embed(), (s - shift.unsqueeze(1)).exp()], dim=1)
    wide = lhs @ torch.cat([wide, values])
    return peak, wide[:, -1], wide[:, :-1]
