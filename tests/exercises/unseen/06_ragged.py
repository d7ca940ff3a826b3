"""06.ragged, from its specification alone."""

# mypy: ignore-errors
# ruff: noqa: N803  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "06.ragged"

BUGS = {
    "zero_scores_count": {"keys-past-the-end"},
    "whole_blocks_of_keys": {"last-keys-dropped"},
    "one_program": {"first-tile-of-rows"},
}
RIGHT = ["powers_of_two"]


@triton.jit
def ragged(q_ptr, k_ptr, v_ptr, o_ptr, len_q, len_k, stop, scale, D, HIDE: tl.constexpr,
           BLOCK_D: tl.constexpr):  # fmt: skip
    offs_m, offs_d = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, BLOCK_D)
    rows = offs_m[:, None] * D + offs_d[None, :]
    inside = (offs_m < len_q)[:, None] & (offs_d < D)[None, :]
    q = tl.load(q_ptr + rows, mask=inside, other=0.0)
    m_i, l_i = tl.full([16], -float("inf"), tl.float32), tl.zeros([16], tl.float32)
    acc = tl.zeros([16, BLOCK_D], tl.float32)
    for start_n in range(0, stop, 16):
        offs_n = start_n + tl.arange(0, 16)
        keys = (offs_n < len_k)[:, None] & (offs_d < D)[None, :]
        k = tl.load(k_ptr + offs_n[:, None] * D + offs_d[None, :], mask=keys, other=0.0)
        v = tl.load(v_ptr + offs_n[:, None] * D + offs_d[None, :], mask=keys, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * 1.4426950408889634)
        if HIDE:
            s += tl.where(offs_n < len_k, 0.0, -float("inf"))[None, :]
        m_new = tl.maximum(m_i, tl.max(s, 1))
        alpha, p = tl.exp2(m_i - m_new), tl.exp2(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
    tl.store(o_ptr + rows, acc / l_i[:, None], mask=inside)


def _launch(q, k, v, scale, *, grid=None, stop=None, hide=True):
    o, d = torch.empty_like(q), q.shape[1]
    width = max(16, triton.next_power_of_2(d))
    programs = triton.cdiv(len(q), 16) if grid is None else grid
    last = len(k) if stop is None else stop
    ragged[(programs,)](q, k, v, o, len(q), len(k), last, scale, d, HIDE=hide, BLOCK_D=width)
    return o


def zero_scores_count(q, k, v, scale):
    return _launch(q, k, v, scale, hide=False)


def whole_blocks_of_keys(q, k, v, scale):
    return _launch(q, k, v, scale, stop=len(k) // 16 * 16)


def one_program(q, k, v, scale):
    return _launch(q, k, v, scale, grid=1)


def powers_of_two(q, k, v, scale):
    return _launch(q, k, v, scale)
