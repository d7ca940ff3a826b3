"""Second launch of the backward pass: dK and dV of a tile of keys, from every query that sees it."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from .call import Call, output_like
from .configuration import LaunchPlan
from .descriptors import rows_of, statistics_of
from .precision import dot_precision
from .prepared import Launches
from .tiles import (
    LOG2_E,
    WHOLE,
    kept,
    load_rows,
    load_statistics,
    partners_seen,
    place_of_program,
    probabilities,
    sequence_at,
    sequence_span,
    tile_ptrs,
    tiles_seen,
    visible_pairs,
)


@triton.jit
def flash_backward_dkdv_kernel(
    # inputs, outputs
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, seed_ptr, cu_q_ptr, cu_k_ptr, dk_ptr, dv_ptr,
    # what is streamed for the copy engine, or None: then pointers load it
    q_desc, do_desc, lse_desc, delta_desc,
    # strides, in elements
    stride_qb, stride_qh, stride_qn, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_dob, stride_doh, stride_don, stride_dod,
    stride_lb, stride_lh, stride_ln,
    stride_sb, stride_sh, stride_sn,
    stride_dkb, stride_dkh, stride_dkn, stride_dkd,
    stride_dvb, stride_dvh, stride_dvn, stride_dvd,
    # runtime scalars
    heads_kv, group,
    sequences, len_q, len_k, left, right, scale, softcap, dropout_threshold, keep_scale,
    # constexprs
    HEAD_DIM: tl.constexpr,
    HEAD_DIM_V: tl.constexpr,
    IS_PACKED: tl.constexpr,
    HAS_LEFT: tl.constexpr,
    HAS_RIGHT: tl.constexpr,
    HAS_SOFTCAP: tl.constexpr,
    HAS_DROPOUT: tl.constexpr,
    SIDE: tl.constexpr,
    ON_AXES: tl.constexpr,
    WANTS_DK: tl.constexpr,
    WANTS_DV: tl.constexpr,
    DOT_PRECISION: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Each program owns BLOCK_N keys of one key head and streams the queries that see them.

    Scores are held transposed, keys down and queries across, as dK and dV need them.
    """
    column_tiles = len_k // BLOCK_N + sequences + 1 if IS_PACKED else tl.cdiv(len_k, BLOCK_N)
    # under a causal mask the first keys are seen by most queries: ascending is heaviest first
    pid_n, b, h_kv = place_of_program(column_tiles, heads_kv, SIDE, ON_AXES)
    if IS_PACKED:
        # from here on lengths and positions are those of one sequence
        b, pid_n, start_k, len_k = sequence_at(cu_k_ptr, pid_n, sequences, len_k, BLOCK_N)
        start_q, len_q = sequence_span(cu_q_ptr, b, sequences, len_q)
        # keys of no sequence are seen by no row, and neither is a slot past the last tile
        len_q = tl.where((b < sequences) & (pid_n * BLOCK_N < len_k), len_q, 0)
        q_ptr += start_q.to(tl.int64) * stride_qn
        k_ptr += start_k.to(tl.int64) * stride_kn
        v_ptr += start_k.to(tl.int64) * stride_vn
        do_ptr += start_q.to(tl.int64) * stride_don
        lse_ptr += start_q.to(tl.int64) * stride_ln
        delta_ptr += start_q.to(tl.int64) * stride_sn
        dk_ptr += start_k.to(tl.int64) * stride_dkn
        dv_ptr += start_k.to(tl.int64) * stride_dvn
    k_ptr += b * stride_kb + h_kv * stride_kh
    v_ptr += b * stride_vb + h_kv * stride_vh
    dk_ptr += b * stride_dkb + h_kv * stride_dkh
    dv_ptr += b * stride_dvb + h_kv * stride_dvh

    start_n = pid_n * BLOCK_N
    cols = start_n + tl.arange(0, BLOCK_N)
    offs_m = tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    offs_dv = tl.arange(0, BLOCK_DV)
    mask_n, mask_d, mask_dv = cols < len_k, offs_d < HEAD_DIM, offs_dv < HEAD_DIM_V

    # step: load_kv
    # keys past len_k load as 0; their gradients stay in rows that are never stored
    mask_k, mask_v = mask_n[:, None] & mask_d[None, :], mask_n[:, None] & mask_dv[None, :]
    k_ptrs = tile_ptrs(k_ptr, cols, offs_d, stride_kn, stride_kd)
    v_ptrs = tile_ptrs(v_ptr, cols, offs_dv, stride_vn, stride_vd)
    k = tl.load(k_ptrs, mask=mask_k, other=0.0)  # [BLOCK_N, BLOCK_D]
    v = tl.load(v_ptrs, mask=mask_v, other=0.0)  # [BLOCK_N, BLOCK_DV]

    dk = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)
    dv = tl.zeros([BLOCK_N, BLOCK_DV], tl.float32)
    if HAS_DROPOUT:
        seed = tl.load(seed_ptr)
    score_scale = scale / softcap if HAS_SOFTCAP else scale * LOG2_E

    # key j is seen from rows j - diagonal - right to j - diagonal + left
    diagonal = len_k - len_q
    first, last = partners_seen(cols, -diagonal, right, left, len_q, HAS_RIGHT, HAS_LEFT)
    stop_n = tl.minimum(start_n + BLOCK_N, len_k)
    # rows past len_q come from the copy engine as 0, lse too, and add 0: no part is cut by the end
    LAST_PART: tl.constexpr = WHOLE if q_desc is not None and not HAS_LEFT else WHOLE + 1
    rows_q = len_q + BLOCK_M - 1 if LAST_PART == WHOLE else len_q  # a tile begun counts as whole
    low, full_low, full_high, high = tiles_seen(
        start_n, stop_n, -diagonal, right, left, rows_q, HAS_RIGHT, HAS_LEFT, BLOCK_M
    )
    step_m = tl.full([], BLOCK_M, tl.int64)

    for member in range(group):
        h = h_kv * group + member
        q_tile = q_ptr + b * stride_qb + h * stride_qh + low.to(tl.int64) * stride_qn
        do_tile = do_ptr + b * stride_dob + h * stride_doh + low.to(tl.int64) * stride_don
        lse_tile = lse_ptr + b * stride_lb + h * stride_lh
        delta_tile = delta_ptr + b * stride_sb + h * stride_sh

        # tiles cut by the right bound, tiles that see every key whole, tiles cut by the left bound
        for PART in tl.static_range(0 if HAS_RIGHT else 1, LAST_PART + 1):
            part_low = low if PART < WHOLE else full_low if PART == WHOLE else full_high
            part_high = full_low if PART < WHOLE else full_high if PART == WHOLE else high
            # hoisted addresses would push the accumulators out of the registers
            for start_m in tl.range(part_low, part_high, BLOCK_M, disable_licm=True):
                # step: load_q
                rows = start_m + offs_m  # [BLOCK_M]
                mask_m = rows < len_q
                # rows past len_q load as 0 and add nothing
                if q_desc is not None:
                    q = load_rows(q_desc, b, h, start_m, BLOCK_M, BLOCK_D)
                    do = load_rows(do_desc, b, h, start_m, BLOCK_M, BLOCK_DV)
                    lse = load_statistics(lse_desc, b, h, start_m, BLOCK_M)
                    delta = load_statistics(delta_desc, b, h, start_m, BLOCK_M)
                else:
                    mask_q, mask_do = mask_d[None, :], mask_dv[None, :]
                    if PART != WHOLE:
                        mask_q, mask_do = mask_q & mask_m[:, None], mask_do & mask_m[:, None]
                    q_ptrs = tile_ptrs(q_tile, offs_m, offs_d, stride_qn, stride_qd)
                    do_ptrs = tile_ptrs(do_tile, offs_m, offs_dv, stride_don, stride_dod)
                    q = tl.load(q_ptrs, mask=mask_q, other=0.0)  # [BLOCK_M, BLOCK_D]
                    do = tl.load(do_ptrs, mask=mask_do, other=0.0)  # [BLOCK_M, BLOCK_DV]
                    lse_ptrs = lse_tile + rows.to(tl.int64) * stride_ln
                    delta_ptrs = delta_tile + rows.to(tl.int64) * stride_sn
                    lse = tl.load(lse_ptrs, mask=mask_m, other=0.0)  # [BLOCK_M]
                    delta = tl.load(delta_ptrs, mask=mask_m, other=0.0)  # [BLOCK_M]
                    q_tile += step_m * stride_qn
                    do_tile += step_m * stride_don
                lse *= LOG2_E  # base 2

                # step: recompute
                # a row without keys has lse = -inf, so p = inf, and sees nothing: masked to 0
                s = tl.dot(k, tl.trans(q), input_precision=DOT_PRECISION) * score_scale
                p, slope = probabilities(s, lse[None, :], softcap, HAS_SOFTCAP)
                # [BLOCK_N, BLOCK_M]

                # step: mask
                if PART != WHOLE:
                    visible = visible_pairs(
                        rows[None, :], mask_m[None, :], first[:, None], last[:, None], HAS_RIGHT, HAS_LEFT,
                    )  # fmt: skip
                    p = tl.where(visible, p, 0.0)

                # step: grad_v
                dropped = p
                if HAS_DROPOUT:
                    keep = kept(seed, b, h, rows[None, :], cols[:, None], dropout_threshold)
                    dropped = tl.where(keep, p * keep_scale, 0.0)
                if WANTS_DV:
                    dv = tl.dot(dropped.to(do.dtype), do, dv, input_precision=DOT_PRECISION)

                if WANTS_DK:
                    # step: grad_p
                    dp = tl.dot(v, tl.trans(do), input_precision=DOT_PRECISION)
                    if HAS_DROPOUT:
                        dp = tl.where(keep, dp * keep_scale, 0.0)

                    # step: grad_s
                    ds = p * (dp - delta[None, :])  # [BLOCK_N, BLOCK_M]
                    if HAS_SOFTCAP:
                        ds = ds * slope

                    # step: grad_k
                    dk = tl.dot(ds.to(q.dtype), q, dk, input_precision=DOT_PRECISION)

    # step: store
    # from the tile's own start: places known since before the loop would sit in registers
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < len_k - start_n
    dk_ptr += start_n.to(tl.int64) * stride_dkn
    dv_ptr += start_n.to(tl.int64) * stride_dvn
    if WANTS_DK:
        dk_ptrs = tile_ptrs(dk_ptr, offs_n, offs_d, stride_dkn, stride_dkd)
        mask_k = mask_n[:, None] & mask_d[None, :]
        tl.store(dk_ptrs, (dk * scale).to(dk_ptr.dtype.element_ty), mask=mask_k)
    if WANTS_DV:
        dv_ptrs = tile_ptrs(dv_ptr, offs_n, offs_dv, stride_dvn, stride_dvd)
        mask_v = mask_n[:, None] & mask_dv[None, :]
        tl.store(dv_ptrs, dv.to(dv_ptr.dtype.element_ty), mask=mask_v)


class DkdvLaunch:
    """Launcher of `flash_backward_dkdv_kernel` for calls that are alike."""

    def __init__(self, call: Call, plan: LaunchPlan, q: torch.Tensor) -> None:
        self.call, self.plan = call, plan
        problem = call.problem
        grid = call.grid(
            problem.heads_kv, problem.len_k, plan.tile.block_n, plan.side, plan.on_axes
        )
        # both sums of a wide head do not fit the registers: then each has a launch of its own
        wanted = ((True, False), (False, True)) if plan.apart else ((True, True),)
        self.launches = [
            Launches(
                flash_backward_dkdv_kernel, grid, **plan.meta, **call.flags,
                SIDE=plan.side, ON_AXES=len(grid) > 1, WANTS_DK=wants_dk, WANTS_DV=wants_dv,
                DOT_PRECISION=dot_precision(q),
            )
            for wants_dk, wants_dv in wanted
        ]  # fmt: skip

    def __call__(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        do: torch.Tensor,
        lse: torch.Tensor,
        delta: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Allocate (dk, dv) and start the kernel, in one launch or two."""
        call, problem = self.call, self.call.problem
        dk, dv = output_like(k), output_like(v)
        if not dk.numel():
            return dk, dv
        descriptors = self._descriptors(q, do, lse, delta)
        for launches in self.launches:
            launches(
                q, k, v, do, lse, delta, call.seed, *call.offsets, dk, dv, *descriptors,
                numbers=lambda: (
                    *call.strides(q, k, v, do, lse, delta, dk, dv),
                    problem.heads_kv, problem.group, *call.scalars,
                ),
            )  # fmt: skip
        return dk, dv

    def _descriptors(
        self, q: torch.Tensor, do: torch.Tensor, lse: torch.Tensor, delta: torch.Tensor
    ) -> tuple[Any, ...]:
        plan = self.plan
        if not plan.descriptors:
            return None, None, None, None
        m = plan.tile.block_m
        streamed = rows_of(q, m, plan.block_d), rows_of(do, m, plan.block_dv)
        return *streamed, statistics_of(lse, m), statistics_of(delta, m)
