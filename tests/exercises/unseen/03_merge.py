"""03.merge, from its specification alone."""

# mypy: ignore-errors

import torch

EXERCISE = "03.merge"

BUGS = {
    "sums_added_as_they_are": {"no-rescale"},
    "only_the_first_corrected": {"one-sided"},
    "nan_for_two_empty_ones": {"inf-minus-inf"},
    "acc_forgotten": {"acc-not-rescaled"},
}
RIGHT = ["by_log_sum_exp"]


def sums_added_as_they_are(a, b):
    return torch.max(a[0], b[0]), a[1] + b[1], a[2] + b[2]


def only_the_first_corrected(a, b):
    m = torch.max(a[0], b[0])
    f = torch.exp(a[0] - m)
    f[m == -torch.inf] = 0
    return m, f * a[1] + b[1], f[:, None] * a[2] + b[2]


def nan_for_two_empty_ones(a, b):
    m = torch.max(a[0], b[0])
    f, g = torch.exp(a[0] - m), torch.exp(b[0] - m)
    return m, f * a[1] + g * b[1], f[:, None] * a[2] + g[:, None] * b[2]


def acc_forgotten(a, b):
    m = torch.max(a[0], b[0])
    base = m.clamp(min=-1e30)
    f, g = torch.exp(a[0] - base), torch.exp(b[0] - base)
    return m, f * a[1] + g * b[1], a[2] + b[2]


def by_log_sum_exp(a, b):
    m = torch.max(a[0], b[0])
    out_l, out_acc = torch.zeros_like(a[1]), torch.zeros_like(a[2])
    for i in range(len(m)):
        for part in (a, b):
            if part[1][i] > 0:
                weight = torch.exp(part[0][i].double() - m[i].double())
                out_l[i] += weight * part[1][i]
                out_acc[i] += weight * part[2][i]
    return [m, out_l, out_acc]
