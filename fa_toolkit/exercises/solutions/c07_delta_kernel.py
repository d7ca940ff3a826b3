"""Solution of 07.delta_kernel."""

# mypy: ignore-errors
# ruff: noqa: N803  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton


# cell
@triton.jit
def delta_kernel(o_ptr, do_ptr, delta_ptr, stride_dom, stride_dod, len_q, D: tl.constexpr):
    offs_m = tl.program_id(0) * 16 + tl.arange(0, 16)  # a program owns 16 rows
    offs_d = tl.arange(0, D)
    # solution:begin
    mask_m = offs_m < len_q
    do_ptrs = do_ptr + offs_m[:, None] * stride_dom + offs_d[None, :] * stride_dod
    o = tl.load(o_ptr + offs_m[:, None] * D + offs_d[None, :], mask=mask_m[:, None], other=0.0)
    do = tl.load(do_ptrs, mask=mask_m[:, None], other=0.0)  # [16, D]
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)  # [16]
    tl.store(delta_ptr + offs_m, delta, mask=mask_m)
    # solution:end


def delta_by_kernel(o, do):
    """Delta [Nq] in float32; o [Nq, D] is contiguous, do has strides of its own."""
    # stub: raise NotImplementedError  # remove this line when the kernel is written
    delta = torch.empty(len(o), device=o.device)
    delta_kernel[(triton.cdiv(len(o), 16),)](o, do, delta, *do.stride(), len(o), D=o.shape[1])
    return delta
