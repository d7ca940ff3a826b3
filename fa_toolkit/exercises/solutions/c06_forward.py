"""Solution of 06.forward."""

# mypy: ignore-errors
# ruff: noqa: N803, N806  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton


# cell
@triton.jit
def my_flash_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, stride_qb, stride_qh, stride_qn, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd, stride_vb, stride_vh, stride_vn, stride_vd,
    len_q, len_k, D, scale, HEADS_Q: tl.constexpr, GROUP: tl.constexpr, IS_CAUSAL: tl.constexpr,
    BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    row_tiles = tl.cdiv(len_q, BLOCK)  # one axis: the others of a CUDA grid end at 65,535
    pid_m = tl.program_id(0) % row_tiles  # a tile of rows
    pid_bh = tl.program_id(0) // row_tiles  # of a (batch, head)
    # solution:begin
    # in 64 bits: a row times a stride may pass 2^31
    b, h = (pid_bh // HEADS_Q).to(tl.int64), (pid_bh % HEADS_Q).to(tl.int64)
    q_ptr += b * stride_qb + h * stride_qh
    k_ptr += b * stride_kb + h // GROUP * stride_kh
    v_ptr += b * stride_vb + h // GROUP * stride_vh
    offs_m = (pid_m * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    offs_d = tl.arange(0, BLOCK_D)
    mask_m, mask_d = offs_m < len_q, offs_d < D
    mask_q = mask_m[:, None] & mask_d[None, :]
    q_ptrs = q_ptr + offs_m[:, None] * stride_qn + offs_d[None, :] * stride_qd
    q = tl.load(q_ptrs, mask=mask_q, other=0.0)  # [BLOCK, BLOCK_D]
    m_i, l_i = tl.full([BLOCK], -float("inf"), tl.float32), tl.zeros([BLOCK], tl.float32)
    acc = tl.zeros([BLOCK, BLOCK_D], tl.float32)
    diagonal = len_k - len_q  # query i stands at key position i + diagonal
    stop = len_k
    if IS_CAUSAL:
        stop = tl.minimum(len_k, tl.minimum((pid_m + 1) * BLOCK, len_q) + diagonal)
    for start_n in range(0, stop, BLOCK):
        cols = (start_n + tl.arange(0, BLOCK)).to(tl.int64)
        mask_kv = (cols < len_k)[:, None] & mask_d[None, :]
        k_ptrs = k_ptr + cols[:, None] * stride_kn + offs_d[None, :] * stride_kd
        v_ptrs = v_ptr + cols[:, None] * stride_vn + offs_d[None, :] * stride_vd
        k = tl.load(k_ptrs, mask=mask_kv, other=0.0)  # [BLOCK, BLOCK_D]
        v = tl.load(v_ptrs, mask=mask_kv, other=0.0)  # [BLOCK, BLOCK_D]
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # [BLOCK, BLOCK]
        visible = (cols < len_k)[None, :]
        if IS_CAUSAL:
            visible = visible & (offs_m[:, None] + diagonal >= cols[None, :])
        s = tl.where(visible, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        # a row that has seen no key yet has m_new = -inf: subtract 0 there
        pivot = tl.where(m_new == -float("inf"), 0.0, m_new)
        alpha, p = tl.exp(m_i - pivot), tl.exp(s - pivot[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    seen = tl.where(l_i == 0.0, 1.0, l_i)
    rows = pid_bh.to(tl.int64) * len_q + offs_m  # o and lse are contiguous
    tl.store(o_ptr + rows[:, None] * D + offs_d[None, :], acc / seen[:, None], mask=mask_q)
    tl.store(lse_ptr + rows, m_i + tl.log(seen), mask=mask_m)
    # solution:end


def my_flash(q, k, v, causal):
    """o like q, contiguous, and lse [B, Hq, Nq] in float32; k, v are [B, Hkv, Nk, D]."""
    # stub: raise NotImplementedError  # remove this line when the kernel is written
    (B, Hq, len_q, D), (Hkv, len_k) = q.shape, k.shape[1:3]
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], device=q.device)
    strides = (*q.stride(), *k.stride(), *v.stride())
    sizes = {"BLOCK": 16, "BLOCK_D": max(16, triton.next_power_of_2(D))}
    my_flash_kernel[(triton.cdiv(len_q, 16) * B * Hq,)](
        q, k, v, o, lse, *strides, len_q, len_k, D, D**-0.5,
        HEADS_Q=Hq, GROUP=Hq // Hkv, IS_CAUSAL=causal, **sizes,
    )  # fmt: skip
    return o, lse
