"""Solution of 05.fix_strides."""

# mypy: ignore-errors
# ruff: noqa: N803  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton


# cell
@triton.jit
def delta_kernel(
    o_ptr, do_ptr, out_ptr, stride_om, stride_on, stride_dom, stride_don, D: tl.constexpr
):
    row, offs_d = tl.program_id(0), tl.arange(0, D)
    o = tl.load(o_ptr + row * stride_om + offs_d * stride_on)
    # solution:begin fix
    # stub: do = tl.load(do_ptr + row * stride_om + offs_d * stride_on)
    do = tl.load(do_ptr + row * stride_dom + offs_d * stride_don)
    # solution:end
    tl.store(out_ptr + row, tl.sum(o * do, axis=0))


def row_delta(o, do):
    """Delta [rows] = rowsum(o * do) for o, do [rows, D] of any strides, D a power of two."""
    # stub: raise NotImplementedError  # remove this line, run the check, then find the fault
    out = torch.empty(len(o), device=o.device)
    delta_kernel[(len(o),)](o, do, out, *o.stride(), *do.stride(), D=o.shape[1])
    return out
