"""03.online, from its specification alone."""

# mypy: ignore-errors
# ruff: noqa: E741  (l is the denominator's name on every floor)
import torch

EXERCISE = "03.online"

BUGS = {
    "subtracts_the_difference": {"subtracts-the-difference"},
    "factor_the_other_way": {"inverse-factor"},
    "starts_at_zero": {"starts-at-zero"},
    "forgets_old_sum": {"last-block-only"},
}
RIGHT = ["split_and_double"]


def subtracts_the_difference(x, block):
    m, l = x[:block].max(), torch.tensor(0.0)
    for i in range(0, len(x), block):
        part = x[i : i + block]
        new = torch.maximum(m, part.max())
        l = l - (new - m) + torch.exp(part - new).sum()
        m = new
    return m, l


def factor_the_other_way(x, block):
    m, l = torch.tensor(-torch.inf), torch.tensor(0.0)
    for i in range(0, len(x), block):
        part = x[i : i + block]
        new = torch.maximum(m, part.max())
        base = new if new > -torch.inf else torch.tensor(0.0)
        factor = torch.exp(base - m) if m > -torch.inf else torch.tensor(0.0)
        l = l * factor + torch.exp(part - base).sum()
        m = new
    return m, l


def starts_at_zero(x, block):
    m, l = torch.tensor(0.0), torch.tensor(0.0)
    for i in range(0, len(x), block):
        part = x[i : i + block]
        new = torch.maximum(m, part.max())
        l = l * torch.exp(m - new) + torch.exp(part - new).sum()
        m = new
    return m, l


def forgets_old_sum(x, block):
    m, l = torch.tensor(-torch.inf), torch.tensor(0.0)
    for i in range(0, len(x), block):
        part = x[i : i + block]
        m = torch.maximum(m, part.max())
        base = m if m > -torch.inf else torch.tensor(0.0)
        l = torch.exp(part - base).sum()
    return m, l


def split_and_double(x, block):
    m, l = torch.tensor(-torch.inf, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64)
    for part in x.split(block):
        part = part.double()
        old, m = m, torch.maximum(m, part.max())
        if m == -torch.inf:
            continue
        l = l.mul(torch.exp2((old - m) / torch.log(torch.tensor(2.0, dtype=torch.float64))))
        l = l + (part - m).exp().sum()
    return m, l
