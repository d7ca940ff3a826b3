"""Solution of 05.fix_width."""

# mypy: ignore-errors
# ruff: noqa: N803  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton


# cell
@triton.jit
def norm_kernel(x_ptr, out_ptr, D, BLOCK_D: tl.constexpr):
    row = tl.program_id(0)
    offs_d = tl.arange(0, BLOCK_D)
    # solution:begin fix
    # stub: x = tl.load(x_ptr + row * D + offs_d)
    x = tl.load(x_ptr + row * D + offs_d, mask=offs_d < D, other=0.0)
    # solution:end
    tl.store(out_ptr + row, tl.sum(x * x, axis=0))


def row_norms(x):
    """Sum of squares of each row of a contiguous x [rows, D], for any D."""
    # stub: raise NotImplementedError  # remove this line, run the check, then find the fault
    out = torch.empty(len(x), device=x.device)
    # solution:begin fix
    # stub: norm_kernel[(len(x),)](x, out, x.shape[1], BLOCK_D=x.shape[1])
    block = triton.next_power_of_2(x.shape[1])
    norm_kernel[(len(x),)](x, out, x.shape[1], BLOCK_D=block)
    # solution:end
    return out
