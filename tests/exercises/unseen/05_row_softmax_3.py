"""05.row_softmax, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: N803
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "05.row_softmax"

BUGS = {
    # The result is stored through the strides of x although out is contiguous; wrong as soon as x
    # is not contiguous.
    "softmax_fox": {"outside-strides"},
}
RIGHT = ["softmax_base2"]


@triton.jit
def _softmax_fox(x_ptr, out_ptr, stride_xm, stride_xn, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    keep = offs < cols
    where = row * stride_xm + offs * stride_xn
    x = tl.load(x_ptr + where, mask=keep, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(out_ptr + where, y.to(out_ptr.dtype.element_ty), mask=keep)


def softmax_fox(x):
    """Softmax of every row, one program a row."""
    rows, cols = x.shape
    out = torch.empty(rows, cols, dtype=x.dtype, device=x.device)
    _softmax_fox[(rows,)](
        x, out, x.stride(0), x.stride(1), cols, BLOCK=triton.next_power_of_2(cols)
    )
    return out


@triton.jit
def _softmax_base2(src, dst, sr, sc, n, W: tl.constexpr):
    r = tl.program_id(0)
    lane = tl.arange(0, W)
    live = lane < n
    # clamp the address instead of trusting the mask alone, then blank the dead lanes by hand
    addr = src + r * sr + tl.minimum(lane, n - 1) * sc
    vals = tl.load(addr, mask=live, other=0.0).to(tl.float32)
    peak = tl.max(tl.where(live, vals, -float("inf")), axis=0)
    powers = tl.where(live, tl.exp2((tl.where(live, vals, peak) - peak) * 1.4426950408889634), 0.0)
    inv = 1.0 / tl.sum(powers, axis=0)
    tl.store(dst + r * n + lane, (powers * inv).to(dst.dtype.element_ty), mask=live)


def softmax_base2(x):
    """Rows through powers of two."""
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    width = triton.next_power_of_2(x.shape[1])
    _softmax_base2[(x.shape[0],)](x, out, x.stride(0), x.stride(1), x.shape[1], W=width)
    return out
