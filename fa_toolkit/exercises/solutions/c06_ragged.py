"""Solution of 06.ragged."""

# mypy: ignore-errors
# ruff: noqa: N803  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton


# cell
@triton.jit
def ragged_kernel(q_ptr, k_ptr, v_ptr, o_ptr, len_q, len_k, scale, D, BLOCK_D: tl.constexpr):
    offs_m, offs_d = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, BLOCK_D)
    rows = offs_m[:, None] * D + offs_d[None, :]
    # solution:begin
    mask_q = (offs_m[:, None] < len_q) & (offs_d[None, :] < D)
    q = tl.load(q_ptr + rows, mask=mask_q, other=0.0)  # [16, BLOCK_D]
    # solution:end
    m_i, l_i = tl.full([16], -float("inf"), tl.float32), tl.zeros([16], tl.float32)
    acc = tl.zeros([16, BLOCK_D], tl.float32)
    for start_n in range(0, len_k, 16):
        offs_n = start_n + tl.arange(0, 16)
        cols = offs_n[:, None] * D + offs_d[None, :]
        # solution:begin
        mask_n = offs_n < len_k
        mask_kv = mask_n[:, None] & (offs_d[None, :] < D)
        k = tl.load(k_ptr + cols, mask=mask_kv, other=0.0)  # [16, BLOCK_D]
        v = tl.load(v_ptr + cols, mask=mask_kv, other=0.0)  # [16, BLOCK_D]
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(mask_n[None, :], s, -float("inf"))  # [16, 16]
        # solution:end
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        alpha, p = tl.exp(m_i - m_new), tl.exp(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
    # solution:begin
    tl.store(o_ptr + rows, acc / l_i[:, None], mask=mask_q)
    # solution:end


def ragged_attention(q, k, v, scale):
    """o [Nq, D] of one head for any Nq, Nk and D."""
    # stub: raise NotImplementedError  # remove this line when the kernel is written
    (len_q, d), o = q.shape, torch.empty_like(q)
    block = max(16, triton.next_power_of_2(d))
    grid = (triton.cdiv(len_q, 16),)
    ragged_kernel[grid](q, k, v, o, len_q, len(k), scale, d, BLOCK_D=block)
    return o
