"""06.lse, from its specification alone."""

# mypy: ignore-errors
# ruff: noqa: E741, N803  (l is the denominator; constexprs are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "06.lse"

BUGS = {
    "everything_times_ln_two": {"both-converted"},
    "log_of_base_two": {"base-2"},
    "zero_divided_by_zero": {"dead-o-nan"},
    "maximum_as_it_is": {"m-not-converted"},
}
RIGHT = ["through_log_two"]


@triton.jit
def run(m_ptr, l_ptr, acc_ptr, o_ptr, lse_ptr, rows, D: tl.constexpr, WAY: tl.constexpr):
    row, dims = tl.program_id(0) * 8 + tl.arange(0, 8), tl.arange(0, D)
    there = row < rows
    m = tl.load(m_ptr + row, mask=there, other=0.0)
    total = tl.load(l_ptr + row, mask=there, other=1.0)
    at = row[:, None] * D + dims[None, :]
    acc = tl.load(acc_ptr + at, mask=there[:, None], other=0.0)
    full = total if WAY == 3 else tl.where(total > 0.0, total, 1.0)
    o = acc / full[:, None]
    safe = tl.where(total > 0.0, total, 1.0)
    if WAY == 1:
        lse = (m + tl.log(safe)) * 0.6931471805599453
    elif WAY == 2:
        lse = m + tl.log2(safe)
    elif WAY == 4:
        lse = m + tl.log(safe)
    else:
        lse = (m + tl.log2(safe)) * 0.6931471805599453
    tl.store(o_ptr + at, o, mask=there[:, None])
    tl.store(lse_ptr + row, lse, mask=there)


def _launch(m, l, acc, way):
    o, lse = torch.empty_like(acc), torch.empty_like(l)
    run[(triton.cdiv(len(m), 8),)](m, l, acc, o, lse, len(m), D=acc.shape[1], WAY=way)
    return o, lse


def everything_times_ln_two(m, l, acc):
    return _launch(m, l, acc, 1)


def log_of_base_two(m, l, acc):
    return _launch(m, l, acc, 2)


def zero_divided_by_zero(m, l, acc):
    return _launch(m, l, acc, 3)


def maximum_as_it_is(m, l, acc):
    return _launch(m, l, acc, 4)


def through_log_two(m, l, acc):
    return _launch(m, l, acc, 0)
