"""Softmax of the rows of a matrix: whole rows on chip, or rows too long for it in blocks."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..errors import DtypeError, ShapeError
from .launching import on_device_of, require_kernels
from .precision import SAME_SUM

#: Longest row that one program keeps on chip; longer rows are streamed in blocks.
LONGEST_ROW = 8192


@triton.jit
def row_softmax_kernel(
    # input, output
    x_ptr, out_ptr,
    # strides, in elements
    stride_xm, stride_xn, stride_om, stride_on,
    # runtime scalars
    len_n,
    # constexprs
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Each program owns one row, which fits on chip: one load, one store."""
    pid_m = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)  # [BLOCK_N]
    mask_n = offs_n < len_n
    # lanes past the row load as -inf: they never are the maximum and add exp(-inf) = 0
    x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=-float("inf")).to(tl.float32)  # [BLOCK_N]
    m = tl.max(x, axis=0)
    p = tl.exp(x - m)  # [BLOCK_N]
    l = tl.sum(p, axis=0)  # noqa: E741  (the paper's letter)
    out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on
    tl.store(out_ptrs, p / l, mask=mask_n)


@triton.jit
def online_row_softmax_kernel(
    # input, output
    x_ptr, out_ptr,
    # strides, in elements
    stride_xm, stride_xn, stride_om, stride_on,
    # runtime scalars
    len_n,
    # constexprs
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Each program owns one row and streams it twice: once for (m, l), once to normalise."""
    pid_m = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)  # [BLOCK_N]
    x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn
    out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on
    block = tl.full([], BLOCK_N, tl.int64)

    # one running maximum and one running sum per lane: they are merged once, at the end
    m_i = tl.full([BLOCK_N], -float("inf"), tl.float32)
    l_i = tl.zeros([BLOCK_N], tl.float32)
    for start_n in range(0, len_n, BLOCK_N):
        x = tl.load(x_ptrs, mask=start_n + offs_n < len_n, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, x)  # [BLOCK_N]
        # a lane that has seen nothing yet has m_new = -inf: subtract 0 there
        pivot = tl.where(m_new == -float("inf"), 0.0, m_new)  # [BLOCK_N]
        l_i = l_i * tl.exp(m_i - pivot) + tl.exp(x - pivot)
        m_i = m_new
        x_ptrs += block * stride_xn
    m = tl.max(m_i, axis=0)
    l = tl.sum(l_i * tl.exp(m_i - m), axis=0)  # noqa: E741  (the paper's letter)

    x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn
    for start_n in range(0, len_n, BLOCK_N):
        mask_n = start_n + offs_n < len_n
        x = tl.load(x_ptrs, mask=mask_n, other=-float("inf")).to(tl.float32)  # [BLOCK_N]
        tl.store(out_ptrs, tl.exp(x - m) / l, mask=mask_n)
        x_ptrs += block * stride_xn
        out_ptrs += block * stride_on


def row_softmax(x: torch.Tensor, *, block: int | None = None) -> torch.Tensor:
    """Softmax over the last axis, computed in float32.

    A row that fits on chip crosses the memory boundary once each way. A longer row is read twice:
    the online softmax saves the pass that a plain one would spend on finding the maximum.

    Shapes:
        x: [..., n], any strides.

    Args:
        block: elements on chip at a time, a power of two; rows longer than that are streamed.
            None: the whole row, up to LONGEST_ROW.

    Raises:
        ShapeError: if x has no axis.
        DtypeError: if x is not float16, bfloat16 or float32.
        BackendUnavailable: if kernels cannot run here.
    """
    require_kernels(x)
    if x.ndim == 0:
        raise ShapeError("x", expected="[..., n]", got="[]")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise DtypeError("x", expected="float16 | bfloat16 | float32", got=str(x.dtype))
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if not out.numel():
        return out
    rows, target = (t.reshape(-1, t.shape[-1]) for t in (x, out))
    whole = triton.next_power_of_2(rows.shape[1])
    block = min(whole, LONGEST_ROW) if block is None else block
    kernel = row_softmax_kernel if whole <= block else online_row_softmax_kernel
    with on_device_of(x):
        kernel[(rows.shape[0],)](
            rows,
            target,
            *rows.stride(),
            *target.stride(),
            rows.shape[1],
            BLOCK_N=block,
            **SAME_SUM,
        )
    return out
