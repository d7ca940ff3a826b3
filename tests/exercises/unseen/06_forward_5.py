"""06.forward, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803, N806
import torch
import triton
import triton.language as tl

EXERCISE = "06.forward"


@triton.jit
def flash_onekv_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, stride_qb, stride_qh, stride_qn, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd, stride_vb, stride_vh, stride_vn, stride_vd,
    len_q, len_k, D, scale, HEADS_Q: tl.constexpr, GROUP: tl.constexpr, IS_CAUSAL: tl.constexpr,
    BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    row_tiles = tl.cdiv(len_q, BLOCK)  # one axis: the others of a CUDA grid end at 65,535
    pid_m = tl.program_id(0) % row_tiles  # a tile of rows
    pid_bh = tl.program_id(0) // row_tiles  # of a (batch, head)
    b = (pid_bh // HEADS_Q).to(tl.int64)
    h = (pid_bh % HEADS_Q).to(tl.int64)
    h_kv = h // GROUP

    offs_m = pid_m.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    offs_n = tl.arange(0, BLOCK).to(tl.int64)
    offs_d = tl.arange(0, BLOCK_D)
    mask_m, mask_d = offs_m < len_q, offs_d < D

    q_ptrs = (
        q_ptr
        + b * stride_qb
        + h * stride_qh
        + offs_m[:, None] * stride_qn
        + offs_d[None, :] * stride_qd
    )
    q = tl.load(q_ptrs, mask=mask_m[:, None] & mask_d[None, :], other=0.0)
    k_base = k_ptr + b * stride_kb + h_kv * stride_kh
    v_base = v_ptr + b * stride_vb + h_kv * stride_vh

    m_i = tl.full([BLOCK], -float("inf"), tl.float32)
    l_i = tl.zeros([BLOCK], tl.float32)
    acc = tl.zeros([BLOCK, BLOCK_D], tl.float32)
    diagonal = len_k - len_q
    stop = len_k
    if IS_CAUSAL:
        stop = tl.maximum(0, tl.minimum(len_k, pid_m * BLOCK + BLOCK + diagonal))
    for start_n in range(0, stop, BLOCK):
        cols = start_n + offs_n
        mask_n = cols < len_k
        kv = cols[:, None] * stride_kn + offs_d[None, :] * stride_kd
        mask_kv = mask_n[:, None] & mask_d[None, :]
        k = tl.load(k_base + kv, mask=mask_kv, other=0.0)
        v = tl.load(v_base + kv, mask=mask_kv, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * 1.4426950408889634)
        seen = mask_n[None, :]
        if IS_CAUSAL:
            seen = seen & (cols[None, :] <= offs_m[:, None] + diagonal)
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        pivot = tl.where(m_new == -float("inf"), 0.0, m_new)
        alpha = tl.exp2(m_i - pivot)
        p = tl.exp2(s - pivot[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p, v.to(tl.float32), input_precision="ieee")
        m_i = m_new

    l_safe = tl.where(l_i > 0.0, l_i, 1.0)
    out = acc / l_safe[:, None]
    lse = m_i * 0.6931471805599453 + tl.log(l_safe)
    flat = pid_bh.to(tl.int64) * len_q + offs_m  # o and lse are contiguous
    tl.store(
        o_ptr + flat[:, None] * D + offs_d[None, :], out, mask=mask_m[:, None] & mask_d[None, :]
    )
    tl.store(lse_ptr + flat, lse, mask=mask_m)


def flash_onekv(q, k, v, causal):
    """o like q, contiguous, and lse [B, Hq, Nq] in float32; k, v are [B, Hkv, Nk, D]."""
    (B, Hq, len_q, D), (Hkv, len_k) = q.shape, k.shape[1:3]
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], device=q.device)
    strides = (*q.stride(), *k.stride(), *v.stride())
    sizes = {"BLOCK": 16, "BLOCK_D": max(16, triton.next_power_of_2(D))}
    flash_onekv_kernel[(triton.cdiv(len_q, 16) * B * Hq,)](
        q, k, v, o, lse, *strides, len_q, len_k, D, D**-0.5,
        HEADS_Q=Hq, GROUP=Hq // Hkv, IS_CAUSAL=causal, **sizes,
    )  # fmt: skip
    return o, lse


BUGS = {
    # inside a head the tile of v is addressed with k's row and column strides (stride_kn,
    # stride_kd, one offset for both) instead of stride_vn, stride_vd: wrong when k and v lie
    # differently in memory.
    "flash_onekv": {"v-by-strides-of-k"},
}
RIGHT = ()
