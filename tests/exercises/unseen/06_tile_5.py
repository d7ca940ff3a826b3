"""06.tile, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803
import torch
import triton
import triton.language as tl

EXERCISE = "06.tile"


@triton.jit
def tile_latehide_kernel(q_ptr, k_ptr, v_ptr, o_ptr, len_k, scale, D: tl.constexpr):
    offs_m, offs_n, offs_d = tl.arange(0, 16), tl.arange(0, 32), tl.arange(0, D)
    mask_n = offs_n < len_k
    kv = offs_n[:, None] * D + offs_d[None, :]
    q = tl.load(q_ptr + offs_m[:, None] * D + offs_d[None, :])  # [16, D]
    k = tl.load(k_ptr + kv, mask=mask_n[:, None], other=0.0)  # [32, D]
    v = tl.load(v_ptr + kv, mask=mask_n[:, None], other=0.0)  # [32, D]
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # [16, 32]
    s = s - tl.max(s, axis=1)[:, None]
    p = tl.where(mask_n[None, :], tl.exp(s), 0.0)
    p = p / tl.sum(p, axis=1)[:, None]
    o = tl.dot(p, v, input_precision="ieee")
    tl.store(o_ptr + offs_m[:, None] * D + offs_d[None, :], o)


def tile_latehide(q, k, v, scale):
    """o [16, D] of 16 queries over at most 32 keys, in one tile."""
    o = torch.empty_like(q)
    tile_latehide_kernel[(1,)](q, k, v, o, len(k), scale, D=q.shape[1])
    return o


BUGS = {
    # the row maximum is taken before the lanes past len_k are hidden, so their score 0 enters it;
    # a row whose real scores are all far below 0 underflows to 0 / 0.
    "tile_latehide": {"maximum-of-absent-keys"},
}
RIGHT = ()
