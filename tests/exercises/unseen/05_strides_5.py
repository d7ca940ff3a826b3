"""05.strides, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803
import torch
import triton
import triton.language as tl

EXERCISE = "05.strides"


@triton.jit
def copy_rowstep_kernel(a_ptr, out_ptr, stride_am, stride_an, M, N, BLOCK: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offs_n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_n[None, :]
    out_ptrs = out_ptr + offs_m[:, None] * N + offs_n[None, :]
    tile = tl.load(a_ptrs, mask=mask)
    tl.store(out_ptrs, tile, mask=mask)


def copy_rowstep(a):
    """A contiguous copy of a [M, N], whatever its strides, in tiles of 8 × 8."""
    out = torch.empty(a.shape, dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(a.shape[0], 8), triton.cdiv(a.shape[1], 8))
    copy_rowstep_kernel[grid](a, out, *a.stride(), *a.shape, BLOCK=8)
    return out


BUGS = {
    # the address of a[i, j] leaves out stride_an (it adds offs_n alone), so it is only right when
    # neighbouring columns lie side by side.
    "copy_rowstep": {"columns-side-by-side"},
}
RIGHT = ()
