"""05.row_softmax, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803
import torch
import triton
import triton.language as tl

EXERCISE = "05.row_softmax"


@triton.jit
def softmax_zero_kernel(x_ptr, out_ptr, stride_xm, stride_xn, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)  # the out tensor is contiguous, x may not be
    mask = offs < cols
    x = tl.load(x_ptr + row * stride_xm + offs * stride_xn, mask=mask, other=0.0).to(tl.float32)
    x = x - tl.max(x, axis=0)
    num = tl.exp(x)
    den = tl.sum(num, axis=0)
    tl.store(out_ptr + row * cols + offs, num / den, mask=mask)


def softmax_zero(x):
    """Softmax of every row of x [rows, cols], one program a row."""
    rows, cols = x.shape
    out = torch.empty(rows, cols, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(cols)
    softmax_zero_kernel[(rows,)](x, out, x.stride(0), x.stride(1), cols, BLOCK=block)
    return out


BUGS = {
    # the load fills the lanes past cols with 0.0 instead of -inf, so they count e^(0 - m) in the
    # sum (and 0 in the maximum).
    "softmax_zero": {"padding-zero"},
}
RIGHT = ()
