"""Third launch of the backward pass: dQ of a tile of queries, from every key it sees."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from .call import Call, output_like
from .configuration import LaunchPlan
from .descriptors import rows_of
from .precision import dot_precision
from .prepared import Launches
from .tiles import (
    LOG2_E,
    WHOLE,
    kept,
    load_rows,
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
def flash_backward_dq_kernel(
    # inputs, outputs
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, seed_ptr, cu_q_ptr, cu_k_ptr, dq_ptr,
    # what is streamed for the copy engine, or None: then pointers load it
    k_desc, v_desc,
    # strides, in elements
    stride_qb, stride_qh, stride_qn, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_dob, stride_doh, stride_don, stride_dod,
    stride_lb, stride_lh, stride_ln,
    stride_sb, stride_sh, stride_sn,
    stride_dqb, stride_dqh, stride_dqn, stride_dqd,
    # runtime scalars
    heads_q, group,
    sequences, len_q, len_k, left, right, scale, softcap, dropout_threshold, keep_scale,
    # constexprs
    HEAD_DIM: tl.constexpr,
    HEAD_DIM_V: tl.constexpr,
    IS_PACKED: tl.constexpr,
    HAS_LEFT: tl.constexpr,
    HAS_RIGHT: tl.constexpr,
    HAS_SOFTCAP: tl.constexpr,
    HAS_DROPOUT: tl.constexpr,
    HAS_EDGE: tl.constexpr,
    SIDE: tl.constexpr,
    ON_AXES: tl.constexpr,
    DOT_PRECISION: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Each program owns BLOCK_M queries of one head and streams the keys and values they see."""
    row_tiles = len_q // BLOCK_M + sequences + 1 if IS_PACKED else tl.cdiv(len_q, BLOCK_M)
    # under a causal mask the last queries see most keys: descending is heaviest first
    slot, b, h = place_of_program(row_tiles, heads_q, SIDE, ON_AXES)
    pid_m = row_tiles - 1 - slot
    if IS_PACKED:
        # from here on lengths and positions are those of one sequence
        b, pid_m, start_q, len_q = sequence_at(cu_q_ptr, pid_m, sequences, len_q, BLOCK_M)
        start_k, len_k = sequence_span(cu_k_ptr, b, sequences, len_k)
        # rows of no sequence see no keys, and neither does a slot past the last tile
        len_k = tl.where((b < sequences) & (pid_m * BLOCK_M < len_q), len_k, 0)
        q_ptr += start_q.to(tl.int64) * stride_qn
        k_ptr += start_k.to(tl.int64) * stride_kn
        v_ptr += start_k.to(tl.int64) * stride_vn
        do_ptr += start_q.to(tl.int64) * stride_don
        lse_ptr += start_q.to(tl.int64) * stride_ln
        delta_ptr += start_q.to(tl.int64) * stride_sn
        dq_ptr += start_q.to(tl.int64) * stride_dqn
    q_ptr += b * stride_qb + h * stride_qh
    k_ptr += b * stride_kb + h // group * stride_kh
    v_ptr += b * stride_vb + h // group * stride_vh
    do_ptr += b * stride_dob + h * stride_doh
    lse_ptr += b * stride_lb + h * stride_lh
    delta_ptr += b * stride_sb + h * stride_sh
    dq_ptr += b * stride_dqb + h * stride_dqh

    start_m = pid_m * BLOCK_M
    rows = start_m + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    offs_dv = tl.arange(0, BLOCK_DV)
    mask_m, mask_d, mask_dv = rows < len_q, offs_d < HEAD_DIM, offs_dv < HEAD_DIM_V

    # step: load_q
    # rows past len_q load as 0 and are never stored
    mask_q, mask_do = mask_m[:, None] & mask_d[None, :], mask_m[:, None] & mask_dv[None, :]
    q_ptrs = tile_ptrs(q_ptr, rows, offs_d, stride_qn, stride_qd)
    do_ptrs = tile_ptrs(do_ptr, rows, offs_dv, stride_don, stride_dod)
    q = tl.load(q_ptrs, mask=mask_q, other=0.0)  # [BLOCK_M, BLOCK_D]
    do = tl.load(do_ptrs, mask=mask_do, other=0.0)  # [BLOCK_M, BLOCK_DV]
    lse_ptrs = lse_ptr + rows.to(tl.int64) * stride_ln
    delta_ptrs = delta_ptr + rows.to(tl.int64) * stride_sn
    lse = tl.load(lse_ptrs, mask=mask_m, other=0.0) * LOG2_E  # [BLOCK_M], base 2
    delta = tl.load(delta_ptrs, mask=mask_m, other=0.0)  # [BLOCK_M]
    # a row without keys has lse = -inf: subtract 0 there, as forward did
    lse = tl.where(lse == -float("inf"), 0.0, lse)

    dq = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    if HAS_DROPOUT:
        seed = tl.load(seed_ptr)
    score_scale = scale / softcap if HAS_SOFTCAP else scale * LOG2_E

    diagonal = len_k - len_q
    first, last = partners_seen(rows, diagonal, left, right, len_k, HAS_LEFT, HAS_RIGHT)
    stop_m = tl.minimum(start_m + BLOCK_M, len_q)
    low, full_low, full_high, high = tiles_seen(
        start_m, stop_m, diagonal, left, right, len_k, HAS_LEFT, HAS_RIGHT, BLOCK_N
    )
    if HAS_LEFT:
        k_ptr += low.to(tl.int64) * stride_kn
        v_ptr += low.to(tl.int64) * stride_vn
    step_n = tl.full([], BLOCK_N, tl.int64)

    LAST_PART: tl.constexpr = WHOLE + 1 if HAS_EDGE else WHOLE
    for PART in tl.static_range(0 if HAS_LEFT else 1, LAST_PART + 1):
        part_low = low if PART < WHOLE else full_low if PART == WHOLE else full_high
        part_high = full_low if PART < WHOLE else high if PART == LAST_PART else full_high
        for start_n in range(part_low, part_high, BLOCK_N):
            # step: load_kv
            cols = start_n + offs_n  # [BLOCK_N]
            mask_n = cols < len_k
            # keys past len_k load as 0 and are masked below
            if k_desc is not None:
                k = load_rows(k_desc, b, h // group, start_n, BLOCK_N, BLOCK_D)
                v = load_rows(v_desc, b, h // group, start_n, BLOCK_N, BLOCK_DV)
            else:
                mask_k, mask_v = mask_d[None, :], mask_dv[None, :]
                if PART != WHOLE:
                    mask_k, mask_v = mask_k & mask_n[:, None], mask_v & mask_n[:, None]
                k_ptrs = tile_ptrs(k_ptr, offs_n, offs_d, stride_kn, stride_kd)
                v_ptrs = tile_ptrs(v_ptr, offs_n, offs_dv, stride_vn, stride_vd)
                k = tl.load(k_ptrs, mask=mask_k, other=0.0)  # [BLOCK_N, BLOCK_D]
                v = tl.load(v_ptrs, mask=mask_v, other=0.0)  # [BLOCK_N, BLOCK_DV]
                k_ptr += step_n * stride_kn
                v_ptr += step_n * stride_vn

            # step: recompute
            s = tl.dot(q, tl.trans(k), input_precision=DOT_PRECISION) * score_scale
            p, slope = probabilities(s, lse[:, None], softcap, HAS_SOFTCAP)  # [BLOCK_M, BLOCK_N]

            # step: mask
            if PART != WHOLE:
                visible = visible_pairs(
                    cols[None, :], mask_n[None, :], first[:, None], last[:, None], HAS_LEFT, HAS_RIGHT,
                )  # fmt: skip
                p = tl.where(visible, p, 0.0)

            # step: grad_p
            dp = tl.dot(do, tl.trans(v), input_precision=DOT_PRECISION)  # [BLOCK_M, BLOCK_N]
            if HAS_DROPOUT:
                keep = kept(seed, b, h, rows[:, None], cols[None, :], dropout_threshold)
                dp = tl.where(keep, dp * keep_scale, 0.0)

            # step: grad_s
            ds = p * (dp - delta[:, None])  # [BLOCK_M, BLOCK_N]
            if HAS_SOFTCAP:
                ds = ds * slope

            # step: grad_q
            dq = tl.dot(ds.to(k.dtype), k, dq, input_precision=DOT_PRECISION)

    # step: store
    dq_ptrs = tile_ptrs(dq_ptr, rows, offs_d, stride_dqn, stride_dqd)
    tl.store(dq_ptrs, (dq * scale).to(dq_ptr.dtype.element_ty), mask=mask_q)


class DqLaunch:
    """Launcher of `flash_backward_dq_kernel` for calls that are alike."""

    def __init__(self, call: Call, plan: LaunchPlan, q: torch.Tensor) -> None:
        self.call, self.plan = call, plan
        problem = call.problem
        grid = call.grid(problem.heads_q, problem.len_q, plan.tile.block_m, plan.side, plan.on_axes)
        self.launches = Launches(
            flash_backward_dq_kernel, grid, **plan.meta, **call.flags,
            SIDE=plan.side, ON_AXES=len(grid) > 1, DOT_PRECISION=dot_precision(q),
            HAS_EDGE=call.has_edge(plan),
        )  # fmt: skip

    def __call__(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        do: torch.Tensor,
        lse: torch.Tensor,
        delta: torch.Tensor,
    ) -> torch.Tensor:
        """Allocate dq and start the kernel."""
        call, problem = self.call, self.call.problem
        dq = output_like(q)
        if dq.numel():
            self.launches(
                q, k, v, do, lse, delta, call.seed, *call.offsets, dq, *self._descriptors(k, v),
                numbers=lambda: (
                    *call.strides(q, k, v, do, lse, delta, dq),
                    problem.heads_q, problem.group, *call.scalars,
                ),
            )  # fmt: skip
        return dq

    def _descriptors(self, k: torch.Tensor, v: torch.Tensor) -> tuple[Any, Any]:
        plan = self.plan
        if not plan.descriptors:
            return None, None
        n = plan.tile.block_n
        return rows_of(k, n, plan.block_d), rows_of(v, n, plan.block_dv)
