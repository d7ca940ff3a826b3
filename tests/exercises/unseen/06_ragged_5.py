"""06.ragged, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803
import torch
import triton
import triton.language as tl

EXERCISE = "06.ragged"


@triton.jit
def ragged_same_kernel(q_ptr, k_ptr, v_ptr, o_ptr, len_q, len_k, scale, D, BLOCK_D: tl.constexpr):
    offs_m, offs_d = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, BLOCK_D)
    rows = offs_m[:, None] * D + offs_d[None, :]
    q_mask = (offs_m < len_q)[:, None] & (offs_d < D)[None, :]
    q = tl.load(q_ptr + rows, mask=q_mask, other=0.0)
    m_i, l_i = tl.full([16], -float("inf"), tl.float32), tl.zeros([16], tl.float32)
    acc = tl.zeros([16, BLOCK_D], tl.float32)
    for start_n in range(0, len_k, 16):
        offs_n = start_n + tl.arange(0, 16)
        cols = offs_n[:, None] * D + offs_d[None, :]
        kv_mask = (offs_n < len_k)[:, None] & (offs_d < D)[None, :]
        k = tl.load(k_ptr + cols, mask=kv_mask, other=0.0)
        v = tl.load(v_ptr + cols, mask=kv_mask, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where((offs_n < len_q)[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        alpha, p = tl.exp(m_i - m_new), tl.exp(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
    tl.store(o_ptr + rows, acc / l_i[:, None], mask=q_mask)


def ragged_same(q, k, v, scale):
    """o [Nq, D] of one head for any Nq, Nk and D."""
    (len_q, d), o = q.shape, torch.empty_like(q)
    block = max(16, triton.next_power_of_2(d))
    grid = (triton.cdiv(len_q, 16),)
    ragged_same_kernel[grid](q, k, v, o, len_q, len(k), scale, d, BLOCK_D=block)
    return o


BUGS = {
    # the keys are hidden by offs_n < len_q instead of < len_k: with more keys than queries real
    # keys vanish, with fewer the keys past the end count.
    "ragged_same": {"keys-by-rows"},
}
RIGHT = ()
