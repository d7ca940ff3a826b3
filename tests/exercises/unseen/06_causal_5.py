"""06.causal, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803
import torch
import triton
import triton.language as tl

EXERCISE = "06.causal"


@triton.jit
def causal_below_kernel(q_ptr, k_ptr, s_ptr, stop_ptr, len_q, len_k, D: tl.constexpr):
    pid_m = tl.program_id(0)
    offs_m, offs_d = pid_m * 16 + tl.arange(0, 16), tl.arange(0, D)
    mask_m, diagonal = offs_m < len_q, len_k - len_q
    q = tl.load(q_ptr + offs_m[:, None] * D + offs_d[None, :], mask=mask_m[:, None], other=0.0)
    last_row = tl.minimum(pid_m * 16 + 16, len_q) - 1
    stop = tl.minimum(last_row + diagonal + 1, len_k)
    tl.store(stop_ptr + pid_m, stop)
    for start_n in range(0, stop, 16):
        cols = start_n + tl.arange(0, 16)
        mask_n = cols < len_k
        k = tl.load(k_ptr + cols[:, None] * D + offs_d[None, :], mask=mask_n[:, None], other=0.0)
        visible = offs_m[:, None] + diagonal >= cols[None, :]
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(visible & mask_n[None, :], s, -float("inf"))
        s_ptrs = s_ptr + offs_m[:, None] * len_k + cols[None, :]
        tl.store(s_ptrs, s, mask=mask_m[:, None] & mask_n[None, :])


def causal_below(q, k):
    """Masked scores [Nq, Nk], and for each tile of 16 rows the first key it need not visit."""
    s = torch.full([len(q), len(k)], -float("inf"), device=q.device)
    stops = torch.zeros(triton.cdiv(len(q), 16), dtype=torch.int32, device=q.device)
    causal_below_kernel[(len(stops),)](q, k, s, stops, len(q), len(k), D=q.shape[1])
    return s, stops


@triton.jit
def causal_reach_kernel(q_ptr, k_ptr, s_ptr, stop_ptr, len_q, len_k, D: tl.constexpr):
    pid_m = tl.program_id(0)
    offs_m, offs_d = pid_m * 16 + tl.arange(0, 16), tl.arange(0, D)
    mask_m, diagonal = offs_m < len_q, len_k - len_q
    q = tl.load(q_ptr + offs_m[:, None] * D + offs_d[None, :], mask=mask_m[:, None], other=0.0)
    # how many keys each row sees: reach; rows that do not exist reach nothing
    reach = tl.where(mask_m, tl.maximum(offs_m + diagonal + 1, 0), 0)
    stop = tl.max(reach, axis=0)
    tl.store(stop_ptr + pid_m, stop)
    for start_n in range(0, stop, 16):
        cols = start_n + tl.arange(0, 16)
        mask_n = cols < len_k
        k = tl.load(k_ptr + cols[:, None] * D + offs_d[None, :], mask=mask_n[:, None], other=0.0)
        visible = cols[None, :] < reach[:, None]
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(visible & mask_n[None, :], s, -float("inf"))
        s_ptrs = s_ptr + offs_m[:, None] * len_k + cols[None, :]
        tl.store(s_ptrs, s, mask=mask_m[:, None] & mask_n[None, :])


def causal_reach(q, k):
    """Masked scores [Nq, Nk], and for each tile of 16 rows the first key it need not visit."""
    s = torch.full([len(q), len(k)], -float("inf"), device=q.device)
    stops = torch.zeros(triton.cdiv(len(q), 16), dtype=torch.int32, device=q.device)
    causal_reach_kernel[(len(stops),)](q, k, s, stops, len(q), len(k), D=q.shape[1])
    return s, stops


BUGS = {
    # stop is bounded by len_k from above but not by 0 from below: a tile whose rows all come
    # before the first key stores a negative stop.
    "causal_below": {"edit-missing"},
}
RIGHT = ("causal_reach",)
