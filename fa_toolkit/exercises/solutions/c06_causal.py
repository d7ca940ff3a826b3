"""Solution of 06.causal."""

# mypy: ignore-errors
# ruff: noqa: N803  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton


# cell
@triton.jit
def causal_kernel(q_ptr, k_ptr, s_ptr, stop_ptr, len_q, len_k, D: tl.constexpr):
    pid_m = tl.program_id(0)
    offs_m, offs_d = pid_m * 16 + tl.arange(0, 16), tl.arange(0, D)
    mask_m, diagonal = offs_m < len_q, len_k - len_q
    q = tl.load(q_ptr + offs_m[:, None] * D + offs_d[None, :], mask=mask_m[:, None], other=0.0)
    stop, visible = len_k, tl.full([16, 16], True, tl.int1)  # replace both: see the specification
    # solution:begin
    last = tl.minimum((pid_m + 1) * 16, len_q)  # one past the last row of this tile
    stop = tl.maximum(0, tl.minimum(len_k, last + diagonal))
    # solution:end
    tl.store(stop_ptr + pid_m, stop)
    for start_n in range(0, stop, 16):
        cols = start_n + tl.arange(0, 16)
        mask_n = cols < len_k
        k = tl.load(k_ptr + cols[:, None] * D + offs_d[None, :], mask=mask_n[:, None], other=0.0)
        # solution:begin
        visible = offs_m[:, None] + diagonal >= cols[None, :]
        # solution:end
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(visible & mask_n[None, :], s, -float("inf"))
        s_ptrs = s_ptr + offs_m[:, None] * len_k + cols[None, :]
        tl.store(s_ptrs, s, mask=mask_m[:, None] & mask_n[None, :])


def causal_scores(q, k):
    """Masked scores [Nq, Nk], and for each tile of 16 rows the first key it need not visit."""
    # stub: raise NotImplementedError  # remove this line when the kernel is written
    s = torch.full([len(q), len(k)], -float("inf"), device=q.device)
    stops = torch.zeros(triton.cdiv(len(q), 16), dtype=torch.int32, device=q.device)
    causal_kernel[(len(stops),)](q, k, s, stops, len(q), len(k), D=q.shape[1])
    return s, stops
