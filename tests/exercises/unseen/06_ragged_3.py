"""06.ragged, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: N803
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "06.ragged"

BUGS = {
    # The final store is masked by rows only and not by d < D: lanes past D write into the next
    # row and, behind the last row, past the end of o.
    "ragged_ram": {"outside-mask"},
}
RIGHT = []


@triton.jit
def _ragged_ram(q_ptr, k_ptr, v_ptr, o_ptr, len_q, len_k, scale, D, BLOCK_D: tl.constexpr):
    offs_m, offs_d = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, BLOCK_D)
    rows = offs_m[:, None] * D + offs_d[None, :]
    in_d = (offs_d < D)[None, :]
    in_m = (offs_m < len_q)[:, None]
    q = tl.load(q_ptr + rows, mask=in_m & in_d, other=0.0)
    m_i, l_i = tl.full([16], -float("inf"), tl.float32), tl.zeros([16], tl.float32)
    acc = tl.zeros([16, BLOCK_D], tl.float32)
    for start_n in range(0, len_k, 16):
        offs_n = start_n + tl.arange(0, 16)
        cols = offs_n[:, None] * D + offs_d[None, :]
        in_n = offs_n < len_k
        k = tl.load(k_ptr + cols, mask=in_n[:, None] & in_d, other=0.0)
        v = tl.load(v_ptr + cols, mask=in_n[:, None] & in_d, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(in_n[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        alpha, p = tl.exp(m_i - m_new), tl.exp(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
    tl.store(o_ptr + rows, acc / l_i[:, None], mask=in_m)


def ragged_ram(q, k, v, scale):
    """o of one head, rows and keys masked at their ends."""
    (len_q, d), o = q.shape, torch.empty_like(q)
    block = max(16, triton.next_power_of_2(d))
    _ragged_ram[(triton.cdiv(len_q, 16),)](q, k, v, o, len_q, len(k), scale, d, BLOCK_D=block)
    return o
