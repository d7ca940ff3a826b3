"""06.gqa, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: N803, N806
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "06.gqa"

BUGS = {
    # k_ptr moves by pid // GROUP key heads and never by stride_kb: batch b > 0 is found only when
    # stride_kb == Hkv * stride_kh, i.e. not for a k that is a slice of more heads or has its axes
    # swapped.
    "gqa_pig": {"batch-stride-unused"},
}
RIGHT = ["gqa_group_loop"]


@triton.jit
def _gqa_pig(q_ptr, k_ptr, s_ptr, stride_qb, stride_qh, stride_kb, stride_kh,
             HEADS_Q: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr):  # fmt: skip
    pid_bh = tl.program_id(0)
    q_ptr += pid_bh // HEADS_Q * stride_qb + pid_bh % HEADS_Q * stride_qh
    k_ptr += pid_bh // GROUP * stride_kh  # every GROUP programs the next key head
    tile = tl.arange(0, 16)[:, None] * D + tl.arange(0, D)[None, :]
    s = tl.dot(tl.load(q_ptr + tile), tl.trans(tl.load(k_ptr + tile)), input_precision="ieee")
    tl.store(s_ptr + pid_bh * 256 + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :], s)


def gqa_pig(q, k):
    """Scores of each query head with its shared key head."""
    B, Hq, _, D = q.shape
    s = torch.empty(B, Hq, 16, 16, device=q.device)
    strides = (q.stride(0), q.stride(1), k.stride(0), k.stride(1))
    _gqa_pig[(B * Hq,)](q, k, s, *strides, HEADS_Q=Hq, GROUP=Hq // k.shape[1], D=D)
    return s


@triton.jit
def _gqa_group_loop(q_ptr, k_ptr, s_ptr, sqb, sqh, skb, skh,
                    HEADS_KV: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr):  # fmt: skip
    b, g_head = tl.program_id(0), tl.program_id(1)  # a program for each key head
    i, d = tl.arange(0, 16), tl.arange(0, D)
    kt = tl.load(k_ptr + b * skb + g_head * skh + d[:, None] + i[None, :] * D)  # [D, 16]
    for member in range(0, GROUP):
        h = g_head * GROUP + member
        q = tl.load(q_ptr + b * sqb + h * sqh + i[:, None] * D + d[None, :])
        s = tl.dot(q, kt, input_precision="ieee")
        out = s_ptr + ((b * HEADS_KV * GROUP + h) * 16 + i[:, None]) * 16 + i[None, :]
        tl.store(out, s)


def gqa_group_loop(q, k):
    """One program a key head; it serves the members of its group in turn."""
    (B, Hq, _, D), Hkv = q.shape, k.shape[1]
    s = torch.empty(B, Hq, 16, 16, dtype=torch.float32, device=q.device)
    _gqa_group_loop[(B, Hkv)](
        q, k, s, q.stride(0), q.stride(1), k.stride(0), k.stride(1),
        HEADS_KV=Hkv, GROUP=Hq // Hkv, D=D,
    )  # fmt: skip
    return s
