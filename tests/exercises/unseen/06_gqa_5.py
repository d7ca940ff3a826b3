"""06.gqa, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803, N806
import torch
import triton
import triton.language as tl

EXERCISE = "06.gqa"


@triton.jit
def gqa_cycle_kernel(q_ptr, k_ptr, s_ptr, stride_qb, stride_qh, stride_kb, stride_kh,
                     HEADS_Q: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr):  # fmt: skip
    pid_bh = tl.program_id(0)  # one program per (batch, query head), heads count fastest
    batch, head = pid_bh // HEADS_Q, pid_bh % HEADS_Q
    heads_kv = HEADS_Q // GROUP
    q_ptr += batch * stride_qb + head * stride_qh
    k_ptr += batch * stride_kb + (head % heads_kv) * stride_kh
    tile = tl.arange(0, 16)[:, None] * D + tl.arange(0, D)[None, :]
    s = tl.dot(tl.load(q_ptr + tile), tl.trans(tl.load(k_ptr + tile)), input_precision="ieee")
    tl.store(s_ptr + pid_bh * 256 + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :], s)


def gqa_cycle(q, k):
    """q [B, Hq, 16, D], k [B, Hkv, 16, D], Hq = GROUP * Hkv: scores [B, Hq, 16, 16]."""
    B, Hq, _, D = q.shape
    s = torch.empty(B, Hq, 16, 16, device=q.device)
    strides = (q.stride(0), q.stride(1), k.stride(0), k.stride(1))
    gqa_cycle_kernel[(B * Hq,)](q, k, s, *strides, HEADS_Q=Hq, GROUP=Hq // k.shape[1], D=D)
    return s


BUGS = {
    # the key head is head % Hkv, dealt out in turn, instead of head // GROUP, neighbours
    # together.
    "gqa_cycle": {"modulo"},
}
RIGHT = ()
