"""Flash Attention forward: one program per tile of queries, keys and values streamed past it.

No backward, window, soft cap or sink yet; `fa_toolkit.flash_attention` is the public door.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl

from ..errors import DtypeError, ShapeError
from ..language import Text
from ..problem import AttentionProblem, TileShape
from .configuration import choose_launch
from .launching import on_device_of, require_kernels
from .precision import dot_precision

LOG2_E: tl.constexpr = tl.constexpr(math.log2(math.e))
LN_2: tl.constexpr = tl.constexpr(math.log(2))


@triton.jit
def tile_ptrs(base_ptr, rows, cols, stride_row, stride_col):
    """Pointers of the tile rows x cols. Offsets in 64 bits: a row times a stride passes 2^31."""
    return (
        base_ptr + rows.to(tl.int64)[:, None] * stride_row + cols.to(tl.int64)[None, :] * stride_col
    )


@triton.jit
def online_softmax_step(m_i, l_i, acc, s, v, DOT_PRECISION: tl.constexpr):
    """Fold one tile of scores (base-2 units) into the running state (m, l, O)."""
    m_new = tl.maximum(m_i, tl.max(s, axis=1))  # [BLOCK_M]
    # a row that has seen no key yet has m_new = -inf: subtract 0 there, never -inf from -inf
    pivot = tl.where(m_new == -float("inf"), 0.0, m_new)  # [BLOCK_M]
    alpha = tl.exp2(m_i - pivot)  # [BLOCK_M]
    p = tl.exp2(s - pivot[:, None])  # [BLOCK_M, BLOCK_N]
    l_i = l_i * alpha + tl.sum(p, axis=1)
    acc = acc * alpha[:, None]  # [BLOCK_M, BLOCK_DV]
    acc = tl.dot(p.to(v.dtype), v, acc, input_precision=DOT_PRECISION)
    return m_new, l_i, acc


@triton.jit
def flash_forward_kernel(
    # inputs, outputs
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    # strides, in elements
    stride_qb, stride_qh, stride_qn, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_ob, stride_oh, stride_on, stride_od,
    stride_lb, stride_lh, stride_ln,
    # runtime scalars
    heads_q, group, len_q, len_k, scale,
    # constexprs
    HEAD_DIM: tl.constexpr,
    HEAD_DIM_V: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    DOT_PRECISION: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Each program owns BLOCK_M queries of one head and streams the keys and values they see."""
    row_tiles = tl.cdiv(len_q, BLOCK_M)
    pid_m = tl.program_id(0) % row_tiles
    pid_bh = tl.program_id(0) // row_tiles
    b = (pid_bh // heads_q).to(tl.int64)
    h = (pid_bh % heads_q).to(tl.int64)
    # each base pointer goes to its batch and head once; `group` query heads share a key head
    q_ptr += b * stride_qb + h * stride_qh
    k_ptr += b * stride_kb + h // group * stride_kh
    v_ptr += b * stride_vb + h // group * stride_vh
    o_ptr += b * stride_ob + h * stride_oh
    lse_ptr += b * stride_lb + h * stride_lh

    start_m = pid_m * BLOCK_M
    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    offs_dv = tl.arange(0, BLOCK_DV)
    mask_m, mask_d, mask_dv = offs_m < len_q, offs_d < HEAD_DIM, offs_dv < HEAD_DIM_V

    # step: load_q
    # rows past len_q load as 0 and are never stored
    q_ptrs = tile_ptrs(q_ptr, offs_m, offs_d, stride_qn, stride_qd)
    q = tl.load(q_ptrs, mask=mask_m[:, None] & mask_d[None, :], other=0.0)  # [BLOCK_M, BLOCK_D]

    m_i = tl.full([BLOCK_M], -float("inf"), tl.float32)  # base-2 units
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_DV], tl.float32)
    scale_log2 = scale * LOG2_E
    step_n = tl.full([], BLOCK_N, tl.int64)

    # query row i stands at key position i + Nk - Nq (bottom-right)
    diagonal = len_k - len_q
    positions = offs_m + diagonal  # [BLOCK_M]
    stop, full = len_k, len_k
    if IS_CAUSAL:
        # the last row sees keys below `stop`; the first row, which sees least, those below `full`
        stop = tl.minimum(len_k, tl.minimum(start_m + BLOCK_M, len_q) + diagonal)
        full = tl.maximum(tl.minimum(len_k, start_m + diagonal + 1), 0)
    full = full // BLOCK_N * BLOCK_N

    # first the tiles that every row sees whole, then those cut by the diagonal or the last key
    for IS_EDGE in tl.static_range(2):
        for start_n in range(full if IS_EDGE else 0, stop if IS_EDGE else full, BLOCK_N):
            # step: load_kv
            cols = start_n + offs_n  # [BLOCK_N]
            mask_n = cols < len_k
            mask_k, mask_v = mask_d[:, None], mask_dv[None, :]
            if IS_EDGE:
                # keys past len_k load as 0 and are masked below
                mask_k, mask_v = mask_k & mask_n[None, :], mask_v & mask_n[:, None]
            k_ptrs = tile_ptrs(k_ptr, offs_d, offs_n, stride_kd, stride_kn)
            v_ptrs = tile_ptrs(v_ptr, offs_n, offs_dv, stride_vn, stride_vd)
            k = tl.load(k_ptrs, mask=mask_k, other=0.0)  # [BLOCK_D, BLOCK_N]
            v = tl.load(v_ptrs, mask=mask_v, other=0.0)  # [BLOCK_N, BLOCK_DV]
            k_ptr += step_n * stride_kn
            v_ptr += step_n * stride_vn

            # step: scores
            s = tl.dot(q, k, input_precision=DOT_PRECISION) * scale_log2  # [BLOCK_M, BLOCK_N]

            # step: mask
            if IS_EDGE:
                visible = mask_n[None, :]
                if IS_CAUSAL:
                    visible = visible & (positions[:, None] >= cols[None, :])
                s = tl.where(visible, s, -float("inf"))

            # step: update
            m_i, l_i, acc = online_softmax_step(m_i, l_i, acc, s, v, DOT_PRECISION)

    # step: store
    # a row that sees no key has l = 0 and m = -inf: it stores o = 0, lse = -inf
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)  # [BLOCK_M]
    o = acc / l_safe[:, None]  # [BLOCK_M, BLOCK_DV]
    o_ptrs = tile_ptrs(o_ptr, offs_m, offs_dv, stride_on, stride_od)
    tl.store(o_ptrs, o.to(o_ptr.dtype.element_ty), mask=mask_m[:, None] & mask_dv[None, :])
    lse = (m_i + tl.log2(l_safe)) * LN_2  # [BLOCK_M], natural units
    tl.store(lse_ptr + offs_m.to(tl.int64) * stride_ln, lse, mask=mask_m)


def problem_of(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> AttentionProblem:
    """The sizes of a call, whose tensors must fit each other: the kernel computes addresses."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.ndim != 4:
            raise ShapeError(name, expected="[B, H, N, D]", got=str(list(x.shape)))
        if x.dtype not in (torch.float16, torch.bfloat16, torch.float32) or x.dtype != q.dtype:
            raise DtypeError(
                name,
                expected=Text(
                    "float16, bfloat16 or float32, all three alike",
                    "float16、bfloat16 或 float32，三者相同",
                ),
                got=str(x.dtype),
            )
    (b, hq, nq, d), (hkv, nk, dv) = q.shape, v.shape[1:]
    for name, x, fitting in (("k", k, (b, hkv, nk, d)), ("v", v, (b, hkv, nk, dv))):
        if x.shape != fitting or 0 in (d, dv):
            raise ShapeError(name, expected=str(list(fitting)), got=str(list(x.shape)))
    dtype: Any = str(q.dtype).removeprefix("torch.")
    return AttentionProblem(b, hq, hkv, nq, nk, d, dv, dtype, causal)


def flash_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    tile: TileShape | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention output and log-sum-exp, without ever storing the scores.

    Launcher of `flash_forward_kernel`: it allocates, chooses a tile that fits the device, and
    starts one program per tile of queries. No gradients: see `fa_toolkit.flash_attention`.

    Shapes:
        q: [B, Hq, Nq, D]; k: [B, Hkv, Nk, D]; v: [B, Hkv, Nk, Dv]; any strides;
        o: [B, Hq, Nq, Dv]; lse: [B, Hq, Nq], float32, natural logarithm.

    Args:
        scale: factor of q k^T, 1/sqrt(D) if None.
        tile: BLOCK_M and BLOCK_N, powers of two (on a GPU at least 16); None: chosen.

    Raises:
        BackendUnavailable: if kernels cannot run here.
        ShapeError: if q, k and v do not fit each other.
        DtypeError: if the device cannot compute this type.
        ArgumentError: if the tile cannot run on this device.
    """
    require_kernels(q, k, v)
    problem = problem_of(q, k, v, causal)
    scale = 1 / math.sqrt(problem.head_dim) if scale is None else float(scale)
    o = torch.empty(*q.shape[:3], problem.head_dim_v, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    if not lse.numel():
        return o, lse
    plan = choose_launch(problem, q.device, tile)
    row_tiles = triton.cdiv(problem.len_q, plan.tile.block_m)
    # one axis: the others of a CUDA grid end at 65,535
    grid = (problem.batch * problem.heads_q * row_tiles,)
    with on_device_of(q):
        flash_forward_kernel[grid](
            q, k, v, o, lse,
            *q.stride(), *k.stride(), *v.stride(), *o.stride(), *lse.stride(),
            problem.heads_q, problem.group, problem.len_q, problem.len_k, scale,
            HEAD_DIM=problem.head_dim, HEAD_DIM_V=problem.head_dim_v,
            IS_CAUSAL=problem.causal, DOT_PRECISION=dot_precision(q),
            BLOCK_D=plan.block_d, BLOCK_DV=plan.block_dv,
            BLOCK_M=plan.tile.block_m, BLOCK_N=plan.tile.block_n,
            num_warps=plan.num_warps, num_stages=plan.num_stages,
        )  # fmt: skip
    return o, lse
