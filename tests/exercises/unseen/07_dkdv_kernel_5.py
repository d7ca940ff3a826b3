"""07.dkdv_kernel, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803
import torch
import triton
import triton.language as tl

EXERCISE = "07.dkdv_kernel"


@triton.jit
def dkdv_axis_kernel(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
                     len_q, len_k, scale, D: tl.constexpr):  # fmt: skip
    offs, offs_d = tl.arange(0, 16), tl.arange(0, D)[None, :]
    cols = tl.program_id(0) * 16 + offs  # a program owns 16 keys
    kv, mask_n = cols[:, None] * D + offs_d, (cols < len_k)[:, None]
    k = tl.load(k_ptr + kv, mask=mask_n, other=0.0)
    v = tl.load(v_ptr + kv, mask=mask_n, other=0.0)
    dk, dv = tl.zeros([16, D], tl.float32), tl.zeros([16, D], tl.float32)
    for start_m in range(0, len_q, 16):
        rows = start_m + offs
        at, mask_m = rows[:, None] * D + offs_d, rows < len_q
        q = tl.load(q_ptr + at, mask=mask_m[:, None], other=0.0)
        do = tl.load(do_ptr + at, mask=mask_m[:, None], other=0.0)
        lse = tl.load(lse_ptr + rows, mask=mask_m, other=0.0)
        delta = tl.load(delta_ptr + rows, mask=mask_m, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[None, :])
        dk += tl.dot(tl.trans(ds), q, input_precision="ieee") * scale
    tl.store(dk_ptr + kv, dk, mask=mask_n)
    tl.store(dv_ptr + kv, dv, mask=mask_n)


def dkdv_axis(q, k, v, do, lse, delta, scale):
    """(dk, dv) of one head, all of width D and contiguous."""
    dk, dv, grid = torch.empty_like(k), torch.empty_like(v), (triton.cdiv(len(k), 16),)
    dkdv_axis_kernel[grid](q, k, v, do, lse, delta, dk, dv, len(q), len(k), scale, D=q.shape[1])
    return dk, dv


BUGS = {
    # delta is laid along the keys (delta[None, :]) instead of down the queries (delta[:, None]);
    # the 16 × 16 tile hides it, and dk is wrong while dv is right.
    "dkdv_axis": {"edit-broadcast"},
}
RIGHT = ()
