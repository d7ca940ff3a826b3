"""06.lse, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: E741, N803, N806
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "06.lse"

BUGS = {
    # ln 2 multiplies the whole of m + ln l, also ln l, which is a natural logarithm already;
    # right only where l = 1.
    "finish_cod": {"both-converted"},
}
RIGHT = []


@triton.jit
def _finish_cod(m_ptr, l_ptr, acc_ptr, o_ptr, lse_ptr, rows, D: tl.constexpr):
    offs_m, offs_d = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, D)
    mask_m = offs_m < rows
    tile = offs_m[:, None] * D + offs_d[None, :]
    m_i = tl.load(m_ptr + offs_m, mask=mask_m, other=0.0)  # base-2 units
    l_i = tl.load(l_ptr + offs_m, mask=mask_m, other=1.0)  # sum of 2^(s - m)
    acc = tl.load(acc_ptr + tile, mask=mask_m[:, None], other=0.0)
    dead = l_i == 0.0
    safe = tl.where(dead, 1.0, l_i)
    o = acc / safe[:, None]
    LN2: tl.constexpr = 0.6931471805599453
    lse = tl.where(dead, -float("inf"), (m_i + tl.log(safe)) * LN2)
    tl.store(o_ptr + tile, o, mask=mask_m[:, None])
    tl.store(lse_ptr + offs_m, lse, mask=mask_m)


def finish_cod(m, l, acc):
    """o = acc / l, and lse back from base 2."""
    o, lse = torch.empty_like(acc), torch.empty_like(l)
    _finish_cod[(triton.cdiv(len(m), 16),)](m, l, acc, o, lse, len(m), D=acc.shape[1])
    return o, lse
