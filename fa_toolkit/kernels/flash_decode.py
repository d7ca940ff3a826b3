"""Decoding: few new queries against a long cache, whose keys are split over many programs.

One code for contiguous and paged caches, and for attention of few queries over many keys. No
gradients; `fa_toolkit.flash_decode` is the public door, and checks what is only assumed here.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents

from ..problem import AttentionProblem, TileShape
from .call import Call, output_like
from .decode_call import bounds, decode_problem_of
from .decode_configuration import DecodePlan, choose_decode, packed_rows
from .decode_tiles import locate, visible_range
from .flash_forward import online_softmax_step
from .launching import on_device_of, require_kernels
from .merge_parts import merge_parts
from .precision import dot_precision
from .prepared import start
from .tiles import LN_2, LOG2_E, partners_seen, tanh, tile_ptrs, visible_pairs


@triton.jit
def flash_decode_kernel(
    # inputs, outputs
    q_ptr, k_ptr, v_ptr, sink_ptr, lens_ptr, table_ptr, o_ptr, lse_ptr,
    # strides, in elements; o and lse have an axis of splits, s, before the others
    stride_qb, stride_qn, stride_qh, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_sh, stride_lens, stride_tb, stride_tn,
    stride_os, stride_ob, stride_on, stride_oh,
    stride_ls, stride_lb, stride_ln, stride_lh,
    # runtime scalars
    heads_kv, group, len_q, capacity, pages, num_splits, left, right, scale, cap,
    # constexprs
    HEAD_DIM: tl.constexpr,
    HEAD_DIM_V: tl.constexpr,
    PAGE_SIZE: tl.constexpr,
    HAS_LENS: tl.constexpr,
    HAS_LEFT: tl.constexpr,
    HAS_RIGHT: tl.constexpr,
    HAS_CAP: tl.constexpr,
    HAS_SINK: tl.constexpr,
    DOT_PRECISION: tl.constexpr,
    OVERLAP: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Each program owns the rows of one key head's group and streams one split of its keys."""
    if OVERLAP:
        # once every program runs, the merge may be launched; it waits until all have stored
        gdc_launch_dependents()
    rows = group * len_q
    row_tiles = tl.cdiv(rows, BLOCK_M)
    split = tl.program_id(0) % num_splits
    pid_m = tl.program_id(0) // num_splits % row_tiles
    pid_bh = tl.program_id(0) // num_splits // row_tiles
    b = (pid_bh // heads_kv).to(tl.int64)
    h_kv = (pid_bh % heads_kv).to(tl.int64)

    start_m = pid_m * BLOCK_M
    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    offs_dv = tl.arange(0, BLOCK_DV)
    mask_m, mask_d, mask_dv = offs_m < rows, offs_d < HEAD_DIM, offs_dv < HEAD_DIM_V
    # row r is head r % group of query r // group
    queries = offs_m // group  # [BLOCK_M]
    heads = h_kv * group + offs_m % group  # [BLOCK_M]

    len_k = capacity
    if HAS_LENS:
        # a length outside the cache counts as the nearest one inside
        len_k = tl.minimum(tl.maximum(tl.load(lens_ptr + b * stride_lens), 0), capacity)
    low, high = visible_range(
        start_m, rows, group, len_q, len_k, left, right, BLOCK_M, HAS_LEFT, HAS_RIGHT
    )
    # splits share the tiles that can be seen, so a short sequence splits as evenly as a long one
    span = tl.cdiv(tl.cdiv(tl.maximum(high - low, 0), BLOCK_N), num_splits) * BLOCK_N
    start = low + split * span
    stop = tl.minimum(start + span, high)
    # query i stands at key position i + Nk - Nq (bottom-right)
    first, last = partners_seen(queries, len_k - len_q, left, right, stop, HAS_LEFT, HAS_RIGHT)

    # step: load_q
    # rows past the group load as 0 and are never stored
    q_rows = queries.to(tl.int64) * stride_qn + heads * stride_qh  # [BLOCK_M]
    q_ptrs = tile_ptrs(q_ptr + b * stride_qb, q_rows, offs_d, 1, stride_qd)
    q = tl.load(q_ptrs, mask=mask_m[:, None] & mask_d[None, :], other=0.0)  # [BLOCK_M, BLOCK_D]

    m_i = tl.full([BLOCK_M], -float("inf"), tl.float32)  # base-2 units
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_DV], tl.float32)
    if HAS_SINK:
        # a key without a value; it belongs to the first split only
        sink = tl.load(
            sink_ptr + heads * stride_sh, mask=mask_m & (split == 0), other=-float("inf")
        )
        m_i = sink.to(tl.float32) * LOG2_E  # [BLOCK_M]
        l_i = tl.where(m_i == -float("inf"), 0.0, 1.0)  # [BLOCK_M]

    k_ptr += h_kv * stride_kh
    v_ptr += h_kv * stride_vh
    if PAGE_SIZE > 0:
        table_ptr += b * stride_tb
    # a page is looked up one tile ahead, so that keys can be fetched while earlier ones are used
    block, slot = locate(start + offs_n, stop, b, table_ptr, stride_tn, pages, PAGE_SIZE)
    for start_n in range(start, stop, BLOCK_N):
        # step: load_kv
        cols = start_n + offs_n  # [BLOCK_N]
        mask_n = cols < stop
        # keys past the split load as 0 and are masked below
        k_ptrs = tile_ptrs(k_ptr, offs_d, block * stride_kb + slot * stride_kn, stride_kd, 1)
        v_ptrs = tile_ptrs(v_ptr, block * stride_vb + slot * stride_vn, offs_dv, 1, stride_vd)
        k = tl.load(k_ptrs, mask=mask_d[:, None] & mask_n[None, :], other=0.0)  # [BLOCK_D, BLOCK_N]
        v = tl.load(
            v_ptrs, mask=mask_n[:, None] & mask_dv[None, :], other=0.0
        )  # [BLOCK_N, BLOCK_DV]

        block, slot = locate(cols + BLOCK_N, stop, b, table_ptr, stride_tn, pages, PAGE_SIZE)

        # step: scores
        s = tl.dot(q, k, input_precision=DOT_PRECISION) * scale  # [BLOCK_M, BLOCK_N]
        if HAS_CAP:
            s = cap * tanh(s / cap)
        s *= LOG2_E

        # step: mask
        visible = visible_pairs(
            cols[None, :], mask_n[None, :], first[:, None], last[:, None], HAS_LEFT, HAS_RIGHT,
        )  # fmt: skip
        s = tl.where(visible, s, -float("inf"))

        # step: update
        m_i, l_i, acc = online_softmax_step(m_i, l_i, acc, s, 1.0, v, None, DOT_PRECISION)

    # step: store
    # a row that sees no key has l = 0 and m = -inf: it stores o = 0, lse = -inf
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)  # [BLOCK_M]
    o = acc / l_safe[:, None]  # [BLOCK_M, BLOCK_DV]
    o_ptr += split.to(tl.int64) * stride_os + b * stride_ob
    lse_ptr += split.to(tl.int64) * stride_ls + b * stride_lb
    o_rows = queries.to(tl.int64) * stride_on + heads * stride_oh  # [BLOCK_M]
    o_ptrs = tile_ptrs(o_ptr, o_rows, offs_dv, 1, 1)
    tl.store(o_ptrs, o.to(o_ptr.dtype.element_ty), mask=mask_m[:, None] & mask_dv[None, :])
    lse = (m_i + tl.log2(l_safe)) * LN_2  # [BLOCK_M], natural units
    lse_rows = queries.to(tl.int64) * stride_ln + heads * stride_lh  # [BLOCK_M]
    tl.store(lse_ptr + lse_rows, lse, mask=mask_m)


def flash_decode(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    *,
    seq_lens: torch.Tensor,
    block_table: torch.Tensor | None = None,
    causal: bool = True,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: torch.Tensor | None = None,
    num_splits: int | None = None,
    tile: TileShape | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention of the newest queries over a cache, the keys of each sequence split over programs.

    Launcher of `flash_decode_kernel` and, where there is more than one split, of the merge. One
    query is too little work to fill a GPU: what fills it are splits, and what saves memory traffic
    is that all query heads of a group share the loads of their keys.

    Shapes:
        q: [B, Nq, Hq, D]; seq_lens: [B]; block_table: [B, max_blocks];
        k_cache, v_cache: [B, Hkv, N, D or Dv], or [blocks, page, Hkv, D or Dv] with a table;
        any strides; o: [B, Nq, Hq, Dv]; lse: [B, Hq, Nq], float32, natural logarithm.

    Args:
        num_splits: None: chosen so that two blocks run on every SM.
        tile: BLOCK_M packed rows by BLOCK_N keys; None: chosen.

    Raises:
        BackendUnavailable: if kernels cannot run here.
        ShapeError, DtypeError: if the tensors do not fit each other or the device.
        ArgumentError: if the tile cannot run on this device.
    """
    require_kernels(q, k_cache, v_cache)
    problem = decode_problem_of(
        q, k_cache, v_cache, seq_lens, block_table, causal=causal, window=window, sink=sink
    )
    rows = (problem.batch, problem.len_q, problem.heads_q)
    o = torch.empty(*rows, problem.head_dim_v, dtype=q.dtype, device=q.device)
    lse = torch.empty(rows, dtype=torch.float32, device=q.device)
    if lse.numel():
        plan = choose_decode(problem, q.device, tile=tile, num_splits=num_splits)
        paged = block_table is not None
        k, v = (x.transpose(1, 2) if paged else x for x in (k_cache, v_cache))
        launch_decode(
            problem, plan, q, k, v, o, lse,
            seq_lens=seq_lens, block_table=block_table, softcap=softcap, scale=scale, sink=sink,
        )  # fmt: skip
    return o, lse.transpose(1, 2)


def attend_split(
    call: Call, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, plan: DecodePlan
) -> tuple[torch.Tensor, torch.Tensor]:
    """`flash_forward` for few queries and many keys: the cache is k and v, all of it in use.

    Shapes:
        as in `flash_forward`; none empty.
    """
    o = output_like(q, call.problem.head_dim_v)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    launch_decode(
        call.problem, plan, q.transpose(1, 2), k, v, o.transpose(1, 2), lse.transpose(1, 2),
        softcap=call.softcap, scale=call.scale, sink=call.sink,
    )  # fmt: skip
    return o, lse


def launch_decode(
    problem: AttentionProblem,
    plan: DecodePlan,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    *,
    seq_lens: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: torch.Tensor | None = None,
) -> None:
    """Start the kernel and, where there is more than one split, the merge.

    Shapes:
        q: [B, Nq, Hq, D]; o: [B, Nq, Hq, Dv], its last axis dense; lse: [B, Nq, Hq];
        k, v: [B or blocks, Hkv, slots, D or Dv]; none empty but for k and v.
    """
    o_parts, lse_parts = o[None], lse[None]
    if plan.splits > 1:
        o_parts, lse_parts = (
            torch.empty(plan.splits, *x.shape, dtype=torch.float32, device=q.device)
            for x in (o, lse)
        )
    left, right, flags = bounds(problem)
    launch = plan.launch
    row_tiles = triton.cdiv(packed_rows(problem), launch.tile.block_m)
    grid = (problem.batch * problem.heads_kv * row_tiles * plan.splits,)
    with on_device_of(q):
        start(
            flash_decode_kernel, grid,
            q, k, v, sink, seq_lens, block_table, o_parts, lse_parts,
            *q.stride(), *k.stride(), *v.stride(),
            *(0 if x is None else x.stride(0) for x in (sink, seq_lens)),
            *((0, 0) if block_table is None else block_table.stride()),
            *o_parts.stride()[:4], *lse_parts.stride(),
            problem.heads_kv, problem.group, problem.len_q, problem.len_k,
            k.shape[0], plan.splits, left, right,
            1 / math.sqrt(problem.head_dim) if scale is None else float(scale),
            float(softcap or 1.0),
            HEAD_DIM=problem.head_dim, HEAD_DIM_V=problem.head_dim_v,
            PAGE_SIZE=0 if block_table is None else k.shape[2],
            HAS_LENS=seq_lens is not None,
            HAS_CAP=bool(softcap), HAS_SINK=sink is not None, **flags,
            DOT_PRECISION=dot_precision(q), OVERLAP=plan.overlap, **launch.meta,
        )  # fmt: skip
    if plan.splits > 1:
        merge_parts(o_parts, lse_parts, o, lse, overlap=plan.overlap)
