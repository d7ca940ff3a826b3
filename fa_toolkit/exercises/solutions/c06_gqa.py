"""Solution of 06.gqa."""

# mypy: ignore-errors
# ruff: noqa: N803, N806  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton


# cell
@triton.jit
def gqa_kernel(q_ptr, k_ptr, s_ptr, stride_qb, stride_qh, stride_kb, stride_kh,
               HEADS_Q: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr):  # fmt: skip
    pid_bh = tl.program_id(0)  # one program per (batch, query head), heads count fastest
    # solution:begin
    b, h = pid_bh // HEADS_Q, pid_bh % HEADS_Q
    q_ptr += b * stride_qb + h * stride_qh
    k_ptr += b * stride_kb + (h // GROUP) * stride_kh
    # solution:end
    tile = tl.arange(0, 16)[:, None] * D + tl.arange(0, D)[None, :]
    s = tl.dot(tl.load(q_ptr + tile), tl.trans(tl.load(k_ptr + tile)), input_precision="ieee")
    tl.store(s_ptr + pid_bh * 256 + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :], s)


def gqa_scores(q, k):
    """q [B, Hq, 16, D], k [B, Hkv, 16, D], Hq = GROUP * Hkv: scores [B, Hq, 16, 16]."""
    # stub: raise NotImplementedError  # remove this line when the kernel is written
    B, Hq, _, D = q.shape
    s = torch.empty(B, Hq, 16, 16, device=q.device)
    strides = (q.stride(0), q.stride(1), k.stride(0), k.stride(1))
    gqa_kernel[(B * Hq,)](q, k, s, *strides, HEADS_Q=Hq, GROUP=Hq // k.shape[1], D=D)
    return s
