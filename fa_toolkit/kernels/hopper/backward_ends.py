"""Before and after the Hopper backward: what its rows need, and what becomes of the sums of dQ.

Written in plain Triton: both read and write each number once and wait for memory.
"""

from __future__ import annotations

import triton
import triton.language as tl

from ..tiles import LOG2_E

#: rows of one program of either kernel
ROWS = 64


@triton.jit
def hopper_prepare_kernel(
    # inputs, outputs
    o_ptr, do_ptr, lse_ptr, dlse_ptr, stats_ptr, sums_ptr, counter_ptr,
    # strides, in elements
    stride_ob, stride_oh, stride_on, stride_dob, stride_doh, stride_don,
    # runtime scalars
    heads, len_q, padded_q,
    # constexprs
    D: tl.constexpr, ROWS: tl.constexpr, BLOCK_M: tl.constexpr, HAS_DLSE: tl.constexpr,
):  # fmt: skip
    """ROWS queries: lse in base 2 and Delta, BLOCK_M of each in turn, and zeros for the sums of dQ."""
    tiles = padded_q // ROWS
    tile = tl.program_id(0) % tiles
    bh = (tl.program_id(0) // tiles).to(tl.int64)
    b, h = bh // heads, bh % heads
    rows = tile * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, D)
    exists = rows < len_q
    at = rows.to(tl.int64)[:, None]

    if tl.program_id(0) == 0:
        tl.store(counter_ptr, 0)

    # step: load_o
    o_at = o_ptr + b * stride_ob + h * stride_oh + at * stride_on + d[None, :]
    do_at = do_ptr + b * stride_dob + h * stride_doh + at * stride_don + d[None, :]
    o = tl.load(o_at, mask=exists[:, None], other=0.0)
    do = tl.load(do_at, mask=exists[:, None], other=0.0)
    # step: delta
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
    if HAS_DLSE:
        # a gradient of the log-sum-exp adds dlse * P to dS, where Delta * P is taken away
        delta -= tl.load(dlse_ptr + bh * len_q + rows, mask=exists, other=0.0)
    lse = tl.load(lse_ptr + bh * len_q + rows, mask=exists, other=-float("inf")) * LOG2_E
    # a row that sees no key, or is none: its probabilities come out as 2^-inf = 0
    lse = tl.where(lse == -float("inf"), float("inf"), lse)
    # step: store
    place = stats_ptr + bh * padded_q * 2 + (rows // BLOCK_M) * (2 * BLOCK_M) + rows % BLOCK_M
    tl.store(place, lse)
    tl.store(place + BLOCK_M, delta)
    tl.store(sums_ptr + (bh * padded_q + at) * D + d[None, :], tl.zeros([ROWS, D], tl.float32))


@triton.jit
def hopper_finish_kernel(
    # inputs, outputs
    sums_ptr, dq_ptr,
    # strides, in elements
    stride_b, stride_h, stride_n,
    # runtime scalars
    heads, len_q, padded_q, scale,
    # constexprs
    D: tl.constexpr, ROWS: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """dQ = scale * sums for ROWS queries, out of the order of the tensor cores; PARTS share the columns."""
    tiles = padded_q // ROWS
    tile = tl.program_id(0) % tiles
    bh = (tl.program_id(0) // tiles).to(tl.int64)
    b, h = bh // heads, bh % heads
    rows = tile * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, D)
    # step: load_q
    base = sums_ptr + (bh * padded_q + tile * ROWS) * D
    sums = tl.load(base + tl.arange(0, ROWS * D))
    # part, eight columns, warp, row of eight, pair of columns, upper or lower eight rows, column
    sums = sums.reshape([PARTS, D // (8 * PARTS), ROWS // 16, 8, 4, 2, 2])
    sums = sums.permute([2, 5, 3, 0, 1, 4, 6]).reshape([ROWS, D])
    # step: store
    dq_at = (
        dq_ptr + b * stride_b + h * stride_h + rows.to(tl.int64)[:, None] * stride_n + d[None, :]
    )
    tl.store(dq_at, (sums * scale).to(dq_ptr.dtype.element_ty), mask=(rows < len_q)[:, None])
