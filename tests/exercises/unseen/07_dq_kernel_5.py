"""07.dq_kernel, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803
import torch
import triton
import triton.language as tl

EXERCISE = "07.dq_kernel"


@triton.jit
def dq_bare_kernel(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr,
                   len_q, len_k, scale, D: tl.constexpr):  # fmt: skip
    offs, offs_d = tl.arange(0, 16), tl.arange(0, D)[None, :]
    rows = tl.program_id(0) * 16 + offs  # a program owns 16 queries
    at, mask_m = rows[:, None] * D + offs_d, rows < len_q
    q = tl.load(q_ptr + at, mask=mask_m[:, None], other=0.0)
    do = tl.load(do_ptr + at, mask=mask_m[:, None], other=0.0)
    lse = tl.load(lse_ptr + rows, mask=mask_m, other=0.0)
    delta = tl.load(delta_ptr + rows, mask=mask_m, other=0.0)
    dq = tl.zeros([16, D], tl.float32)
    for start_n in range(0, len_k, 16):
        cols = start_n + offs
        kv, mask_n = cols[:, None] * D + offs_d, (cols < len_k)[:, None]
        k = tl.load(k_ptr + kv, mask=mask_n, other=0.0)
        v = tl.load(v_ptr + kv, mask=mask_n, other=0.0)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += scale * tl.dot(ds, k, input_precision="ieee")
    tl.store(dq_ptr + at, dq, mask=mask_m[:, None])


def dq_bare(q, k, v, do, lse, delta, scale):
    """dq of one head, all of width D and contiguous."""
    dq, grid = torch.empty_like(q), (triton.cdiv(len(q), 16),)
    dq_bare_kernel[grid](q, k, v, do, lse, delta, dq, len(q), len(k), scale, D=q.shape[1])
    return dq


BUGS = {
    # keys past len_k are not hidden: their score is 0 and p = e^(0 - lse), which overflows where
    # lse is below about -88, and inf times the zero rows of k is NaN in dq.
    "dq_bare": {"absent-keys"},
}
RIGHT = ()
