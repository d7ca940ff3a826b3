"""06.lse, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: E741, N803
import torch
import triton
import triton.language as tl

EXERCISE = "06.lse"


@triton.jit
def finish_factored_kernel(m_ptr, l_ptr, acc_ptr, o_ptr, lse_ptr, rows, D: tl.constexpr):
    offs_m, offs_d = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, D)
    mask_m = offs_m < rows
    tile = offs_m[:, None] * D + offs_d[None, :]
    m_i = tl.load(m_ptr + offs_m, mask=mask_m, other=0.0)  # base-2 units
    l_i = tl.load(l_ptr + offs_m, mask=mask_m, other=1.0)  # sum of 2^(s - m)
    acc = tl.load(acc_ptr + tile, mask=mask_m[:, None], other=0.0)
    empty = l_i == 0.0
    l_safe = tl.where(empty, 1.0, l_i)
    o = tl.where(empty[:, None], 0.0, acc / l_safe[:, None])
    lse = tl.where(empty, -float("inf"), (m_i + tl.log(l_safe)) * 0.6931471805599453)
    tl.store(o_ptr + tile, o, mask=mask_m[:, None])
    tl.store(lse_ptr + offs_m, lse, mask=mask_m)


def finish_factored(m, l, acc):
    """o [rows, D] and natural lse [rows] from a state whose m is in base-2 units."""
    o, lse = torch.empty_like(acc), torch.empty_like(l)
    grid = (triton.cdiv(len(m), 16),)
    finish_factored_kernel[grid](m, l, acc, o, lse, len(m), D=acc.shape[1])
    return o, lse


BUGS = {
    # lse is (m + ln l) · ln 2: the factor ln 2 multiplies the natural logarithm of l too, which
    # needs none (m · ln 2 + ln l).
    "finish_factored": {"both-converted"},
}
RIGHT = ()
