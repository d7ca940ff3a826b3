"""04.fix_mask_value, from its specification alone."""

# mypy: ignore-errors
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch

EXERCISE = "04.fix_mask_value"

BUGS = {
    "a_thousand_times_lower": {"lower-finite-mask"},
    "weights_times_keep_for_v": {"values-only"},
    "scores_times_keep": {"masked-to-zero"},
    "keep_means_hide": {"inverted"},
}
RIGHT = ["drops_the_keys", "multiplies_the_weights"]


def _softmax_by_hand(s, v):
    p = torch.exp(s - s.amax(1, keepdim=True))
    return p @ v / p.sum(1, keepdim=True)


def a_thousand_times_lower(q, k, v, keep, block):
    s = q @ k.T / q.shape[1] ** 0.5
    return _softmax_by_hand(torch.where(keep, s, torch.tensor(-1e7)), v)


def weights_times_keep_for_v(q, k, v, keep, block):
    s = q @ k.T / q.shape[1] ** 0.5
    p = torch.exp(s - s.amax(1, keepdim=True))
    return (p * keep) @ v / p.sum(1, keepdim=True)


def scores_times_keep(q, k, v, keep, block):
    return _softmax_by_hand(q @ k.T / q.shape[1] ** 0.5 * keep, v)


def keep_means_hide(q, k, v, keep, block):
    if keep.all():
        return q.new_zeros(len(q), v.shape[1])
    s = q @ k.T / q.shape[1] ** 0.5
    return _softmax_by_hand(s.masked_fill(keep, -torch.inf), v)


def drops_the_keys(q, k, v, keep, block):
    o = q.new_zeros(len(q), v.shape[1])
    if not keep.any():
        return o
    return o.add_(_softmax_by_hand(q @ k[keep].T / q.shape[1] ** 0.5, v[keep]))


def multiplies_the_weights(q, k, v, keep, block):
    s = q @ k.T / q.shape[1] ** 0.5
    m = s.masked_fill(~keep, -torch.inf).amax(1, keepdim=True)
    p = torch.exp(torch.where(keep, s - m.nan_to_num(neginf=0.0), -torch.inf))
    l = p.sum(1, keepdim=True)
    return p @ v / torch.where(l > 0, l, 1.0)
