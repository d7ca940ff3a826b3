"""Merge of finished parts: the second launch of decoding, after every split has stored (o, lse)."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_wait

from ..problem import MERGED_PARTS
from .launching import on_device_of
from .precision import SAME_SUM
from .prepared import start
from .tiles import LN_2, LOG2_E, tile_ptrs


@triton.jit
def merge_step(m_i, l_i, acc, lse, o):
    """Fold parts into the state (m, l, O): a part's lse (base-2 units) is its score, o its value."""
    m_new = tl.maximum(m_i, tl.max(lse, axis=0))
    # while every part so far saw nothing m_new = -inf: subtract 0 there, never -inf from -inf
    pivot = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha = tl.exp2(m_i - pivot)
    p = tl.exp2(lse - pivot)  # [BLOCK_PARTS]
    l_i = l_i * alpha + tl.sum(p, axis=0)
    acc = acc * alpha + tl.sum(p[:, None] * o, axis=0)  # [BLOCK_DV]
    return m_new, l_i, acc


@triton.jit
def merge_parts_kernel(
    # inputs, outputs
    o_parts_ptr, lse_parts_ptr, o_ptr, lse_ptr,
    # strides of the outputs, in elements
    stride_ob, stride_on, stride_oh,
    stride_lb, stride_ln, stride_lh,
    # runtime scalars
    rows, parts, len_q, heads,
    # constexprs
    HEAD_DIM_V: tl.constexpr,
    BLOCK_DV: tl.constexpr,
    BLOCK_PARTS: tl.constexpr,
    OVERLAP: tl.constexpr,
):  # fmt: skip
    """Each program owns one row of the output and streams what every part found for it."""
    if OVERLAP:
        # launched ahead: no part is there before all programs of the kernel in front have ended
        gdc_wait()
    row = tl.program_id(0).to(tl.int64)
    offs_p = tl.arange(0, BLOCK_PARTS)
    offs_dv = tl.arange(0, BLOCK_DV)
    mask_dv = offs_dv < HEAD_DIM_V

    m_i = tl.full([], -float("inf"), tl.float32)  # base-2 units
    l_i = tl.full([], 0.0, tl.float32)
    acc = tl.zeros([BLOCK_DV], tl.float32)
    for start_p in range(0, parts, BLOCK_PARTS):
        # step: load_o
        mask_p = start_p + offs_p < parts
        part_rows = (start_p + offs_p).to(tl.int64) * rows + row  # [BLOCK_PARTS]
        # parts past the last load as -inf, as if they had seen no key
        lse = tl.load(lse_parts_ptr + part_rows, mask=mask_p, other=-float("inf")) * LOG2_E
        o_ptrs = tile_ptrs(o_parts_ptr, part_rows, offs_dv, HEAD_DIM_V, 1)
        mask = mask_p[:, None] & mask_dv[None, :]
        o = tl.load(o_ptrs, mask=mask, other=0.0)  # [BLOCK_PARTS, BLOCK_DV]

        # step: merge
        m_i, l_i, acc = merge_step(m_i, l_i, acc, lse, o)

    # step: store
    # a row that no part saw a key for has l = 0 and m = -inf: it stores o = 0, lse = -inf
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    o = acc / l_safe  # [BLOCK_DV]
    b, query, head = row // heads // len_q, row // heads % len_q, row % heads
    o_ptrs = o_ptr + b * stride_ob + query * stride_on + head * stride_oh + offs_dv
    tl.store(o_ptrs, o.to(o_ptr.dtype.element_ty), mask=mask_dv)
    lse_ptr += b * stride_lb + query * stride_ln + head * stride_lh
    tl.store(lse_ptr, (m_i + tl.log2(l_safe)) * LN_2)  # natural units


def merge_parts(
    o_parts: torch.Tensor,
    lse_parts: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    *,
    overlap: bool = False,
) -> None:
    """Merge finished parts of the same rows into `o` and `lse`: one program per row.

        lse = log sum_i e^(lse_i)        o = sum_i e^(lse_i - lse) o_i

    Shapes:
        o_parts: [parts, B, Nq, Hq, Dv] and lse_parts: [parts, B, Nq, Hq], float32, contiguous;
        o: [B, Nq, Hq, Dv], its last axis dense; lse: [B, Nq, Hq]; none empty.

    Args:
        overlap: launch ahead of the end of the kernel in front, which must be what stores the
            parts: the start of a launch then costs no time.
    """
    ahead = {"launch_pdl": True} if overlap else {}  # programmatic dependent launch
    parts, width = o_parts.shape[0], o.shape[-1]
    with on_device_of(o):
        start(
            merge_parts_kernel, (lse.numel(),),
            o_parts, lse_parts, o, lse,
            *o.stride()[:3], *lse.stride(),
            lse.numel(), parts, *lse.shape[1:],
            HEAD_DIM_V=width, BLOCK_DV=triton.next_power_of_2(width),
            BLOCK_PARTS=min(MERGED_PARTS, triton.next_power_of_2(parts)),
            OVERLAP=overlap, num_warps=4 if width <= 128 else 8, **SAME_SUM, **ahead,
        )  # fmt: skip
