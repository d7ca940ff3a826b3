"""06.tile, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: E741, N803
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "06.tile"

BUGS = {
    # The row maximum is taken before the lanes past len_k are hidden, so it is at least 0 when
    # len_k < 32; rows whose real scores are all far below zero underflow to 0/0.
    "tile_hen": {"maximum-of-absent-keys"},
}
RIGHT = []


@triton.jit
def _tile_hen(q_ptr, k_ptr, v_ptr, o_ptr, len_k, scale, D: tl.constexpr):
    offs_m, offs_n, offs_d = tl.arange(0, 16), tl.arange(0, 32), tl.arange(0, D)
    mask_n = offs_n < len_k
    kv = offs_n[:, None] * D + offs_d[None, :]
    q = tl.load(q_ptr + offs_m[:, None] * D + offs_d[None, :])  # [16, D]
    k = tl.load(k_ptr + kv, mask=mask_n[:, None], other=0.0)  # [32, D]
    v = tl.load(v_ptr + kv, mask=mask_n[:, None], other=0.0)  # [32, D]
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # [16, 32]
    m = tl.max(s, axis=1)
    p = tl.where(mask_n[None, :], tl.exp(s - m[:, None]), 0.0)
    l = tl.sum(p, axis=1)
    o = tl.dot(p, v, input_precision="ieee") / l[:, None]
    tl.store(o_ptr + offs_m[:, None] * D + offs_d[None, :], o)


def tile_hen(q, k, v, scale):
    """o of 16 queries in one tile; lanes past the end get weight zero."""
    o = torch.empty_like(q)
    _tile_hen[(1,)](q, k, v, o, len(k), scale, D=q.shape[1])
    return o
