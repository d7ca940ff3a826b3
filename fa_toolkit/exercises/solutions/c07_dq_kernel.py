"""Solution of 07.dq_kernel."""

# mypy: ignore-errors
# ruff: noqa: N803  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton


# cell
@triton.jit
def dq_kernel(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr,
              len_q, len_k, scale, D: tl.constexpr):  # fmt: skip
    offs, offs_d = tl.arange(0, 16), tl.arange(0, D)[None, :]
    rows = tl.program_id(0) * 16 + offs  # a program owns 16 queries
    at, mask_m = rows[:, None] * D + offs_d, rows < len_q
    q = tl.load(q_ptr + at, mask=mask_m[:, None], other=0.0)
    do = tl.load(do_ptr + at, mask=mask_m[:, None], other=0.0)
    lse = tl.load(lse_ptr + rows, mask=mask_m, other=0.0)
    delta = tl.load(delta_ptr + rows, mask=mask_m, other=0.0)
    dq = tl.zeros([16, D], tl.float32)
    # solution:begin
    for start_n in range(0, len_k, 16):
        cols = start_n + offs
        kv, mask_n = cols[:, None] * D + offs_d, (cols < len_k)[:, None]
        k = tl.load(k_ptr + kv, mask=mask_n, other=0.0)
        v = tl.load(v_ptr + kv, mask=mask_n, other=0.0)
        p = tl.exp(tl.dot(q, tl.trans(k), input_precision="ieee") * scale - lse[:, None])
        # keys past the end are 0 and add nothing to dq, unless p is infinite there
        p = tl.where((cols < len_k)[None, :], p, 0.0)
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dq += tl.dot(ds, k, input_precision="ieee") * scale
    # solution:end
    tl.store(dq_ptr + at, dq, mask=mask_m[:, None])


def dq_by_kernel(q, k, v, do, lse, delta, scale):
    """dq of one head, all of width D and contiguous."""
    # stub: raise NotImplementedError  # remove this line when the kernel is written
    dq, grid = torch.empty_like(q), (triton.cdiv(len(q), 16),)
    dq_kernel[grid](q, k, v, do, lse, delta, dq, len(q), len(k), scale, D=q.shape[1])
    return dq
