"""Flash Attention backward in three launches: Delta, then dK and dV, then dQ. P is rebuilt from lse.

One program owns the keys or the queries whose gradient it writes, so nothing is added atomically
and two runs agree to the last bit. Gradients of the sink are summed from Delta afterwards.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

from ..problem import TileShape
from .call import Call, output_like
from .configuration import LaunchPlan, choose_launch
from .launching import on_device_of, require_kernels
from .precision import dot_precision
from .tiles import LOG2_E, WHOLE, kept, tanh, tile_ptrs, tiles_seen, visible_pairs


@triton.jit
def delta_kernel(
    # inputs, outputs
    o_ptr, do_ptr, dlse_ptr, delta_ptr,
    # strides, in elements
    stride_ob, stride_oh, stride_on, stride_od,
    stride_dob, stride_doh, stride_don, stride_dod,
    stride_gb, stride_gh, stride_gn,
    stride_sb, stride_sh, stride_sn,
    # runtime scalars
    heads_q, len_q,
    # constexprs
    HEAD_DIM_V: tl.constexpr,
    HAS_DLSE: tl.constexpr,
    BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr,
):  # fmt: skip
    """Each program owns BLOCK_M queries of one head: Delta = rowsum(dO * O) - dlse."""
    row_tiles = tl.cdiv(len_q, BLOCK_M)
    pid_m = tl.program_id(0) % row_tiles
    pid_bh = tl.program_id(0) // row_tiles
    b = (pid_bh // heads_q).to(tl.int64)
    h = (pid_bh % heads_q).to(tl.int64)
    o_ptr += b * stride_ob + h * stride_oh
    do_ptr += b * stride_dob + h * stride_doh
    delta_ptr += b * stride_sb + h * stride_sh
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_dv = tl.arange(0, BLOCK_DV)
    mask_m = offs_m < len_q
    mask = mask_m[:, None] & (offs_dv < HEAD_DIM_V)[None, :]
    rows = offs_m.to(tl.int64)

    # step: load_o
    o = tl.load(tile_ptrs(o_ptr, offs_m, offs_dv, stride_on, stride_od), mask=mask, other=0.0)
    do = tl.load(tile_ptrs(do_ptr, offs_m, offs_dv, stride_don, stride_dod), mask=mask, other=0.0)
    if HAS_DLSE:
        dlse_ptr += b * stride_gb + h * stride_gh
        dlse = tl.load(dlse_ptr + rows * stride_gn, mask=mask_m, other=0.0)  # [BLOCK_M]

    # step: delta
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)  # [BLOCK_M]
    if HAS_DLSE:
        delta -= dlse

    # step: store
    tl.store(delta_ptr + rows * stride_sn, delta, mask=mask_m)


@triton.jit
def probabilities(s, lse, softcap, HAS_SOFTCAP: tl.constexpr):
    """(p, slope) from scaled products: p = e^(s - lse); slope, of the soft cap, 1 without one."""
    slope = 1.0
    if HAS_SOFTCAP:
        s = tanh(s)
        slope = 1.0 - s * s
        s = s * (softcap * LOG2_E)
    return tl.exp2(s - lse), slope


@triton.jit
def flash_backward_dkdv_kernel(
    # inputs, outputs
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, seed_ptr, dk_ptr, dv_ptr,
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
    len_q, len_k, left, right, scale, softcap, dropout_threshold, keep_scale,
    # constexprs
    HEAD_DIM: tl.constexpr,
    HEAD_DIM_V: tl.constexpr,
    HAS_LEFT: tl.constexpr,
    HAS_RIGHT: tl.constexpr,
    HAS_SOFTCAP: tl.constexpr,
    HAS_DROPOUT: tl.constexpr,
    DOT_PRECISION: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Each program owns BLOCK_N keys of one key head and streams the queries that see them.

    Scores are held transposed, keys down and queries across, as dK and dV need them.
    """
    column_tiles = tl.cdiv(len_k, BLOCK_N)
    # under a causal mask the first keys are seen by most queries: ascending is heaviest first
    pid_n = tl.program_id(0) % column_tiles
    pid_bh = tl.program_id(0) // column_tiles
    b = (pid_bh // heads_kv).to(tl.int64)
    h_kv = (pid_bh % heads_kv).to(tl.int64)
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
    stop_n = tl.minimum(start_n + BLOCK_N, len_k)
    low, full_low, full_high, high = tiles_seen(
        start_n, stop_n, -diagonal, right, left, len_q, HAS_RIGHT, HAS_LEFT, BLOCK_M
    )
    step_m = tl.full([], BLOCK_M, tl.int64)

    for member in range(group):
        h = h_kv * group + member
        q_tile = q_ptr + b * stride_qb + h * stride_qh + low.to(tl.int64) * stride_qn
        do_tile = do_ptr + b * stride_dob + h * stride_doh + low.to(tl.int64) * stride_don
        lse_tile = lse_ptr + b * stride_lb + h * stride_lh
        delta_tile = delta_ptr + b * stride_sb + h * stride_sh

        # tiles cut by the right bound, tiles that see every key whole, tiles cut by the left bound
        for PART in tl.static_range(0 if HAS_RIGHT else 1, 3):
            part_low = low if PART < WHOLE else full_low if PART == WHOLE else full_high
            part_high = full_low if PART < WHOLE else full_high if PART == WHOLE else high
            # hoisted addresses would push the accumulators out of the registers
            for start_m in tl.range(part_low, part_high, BLOCK_M, disable_licm=True):
                # step: load_q
                rows = start_m + offs_m  # [BLOCK_M]
                mask_m = rows < len_q
                mask_q, mask_do = mask_d[None, :], mask_dv[None, :]
                if PART != WHOLE:
                    # rows past len_q load as 0 and add nothing
                    mask_q, mask_do = mask_q & mask_m[:, None], mask_do & mask_m[:, None]
                q_ptrs = tile_ptrs(q_tile, offs_m, offs_d, stride_qn, stride_qd)
                do_ptrs = tile_ptrs(do_tile, offs_m, offs_dv, stride_don, stride_dod)
                q = tl.load(q_ptrs, mask=mask_q, other=0.0)  # [BLOCK_M, BLOCK_D]
                do = tl.load(do_ptrs, mask=mask_do, other=0.0)  # [BLOCK_M, BLOCK_DV]
                lse_ptrs = lse_tile + rows.to(tl.int64) * stride_ln
                delta_ptrs = delta_tile + rows.to(tl.int64) * stride_sn
                lse = tl.load(lse_ptrs, mask=mask_m, other=0.0) * LOG2_E  # [BLOCK_M], base 2
                delta = tl.load(delta_ptrs, mask=mask_m, other=0.0)  # [BLOCK_M]
                q_tile += step_m * stride_qn
                do_tile += step_m * stride_don

                # step: recompute
                # a row without keys has lse = -inf: subtract 0 there, as forward did
                lse = tl.where(lse == -float("inf"), 0.0, lse)
                s = tl.dot(k, tl.trans(q), input_precision=DOT_PRECISION) * score_scale
                p, slope = probabilities(s, lse[None, :], softcap, HAS_SOFTCAP)
                # [BLOCK_N, BLOCK_M]

                # step: mask
                if PART != WHOLE:
                    visible = visible_pairs(
                        rows[None, :] + diagonal, cols[:, None], mask_m[None, :],
                        left, right, HAS_LEFT, HAS_RIGHT,
                    )  # fmt: skip
                    p = tl.where(visible, p, 0.0)

                # step: grad_v
                dropped = p
                if HAS_DROPOUT:
                    keep = kept(seed, b, h, rows[None, :], cols[:, None], dropout_threshold)
                    dropped = tl.where(keep, p * keep_scale, 0.0)
                dv = tl.dot(dropped.to(do.dtype), do, dv, input_precision=DOT_PRECISION)

                # step: grad_p
                dp = tl.dot(v, tl.trans(do), input_precision=DOT_PRECISION)  # [BLOCK_N, BLOCK_M]
                if HAS_DROPOUT:
                    dp = tl.where(keep, dp * keep_scale, 0.0)

                # step: grad_s
                ds = p * (dp - delta[None, :])  # [BLOCK_N, BLOCK_M]
                if HAS_SOFTCAP:
                    ds = ds * slope

                # step: grad_k
                dk = tl.dot(ds.to(q.dtype), q, dk, input_precision=DOT_PRECISION)

    # step: store
    dk_ptrs = tile_ptrs(dk_ptr, cols, offs_d, stride_dkn, stride_dkd)
    dv_ptrs = tile_ptrs(dv_ptr, cols, offs_dv, stride_dvn, stride_dvd)
    mask_k, mask_v = mask_n[:, None] & mask_d[None, :], mask_n[:, None] & mask_dv[None, :]
    tl.store(dk_ptrs, (dk * scale).to(dk_ptr.dtype.element_ty), mask=mask_k)
    tl.store(dv_ptrs, dv.to(dv_ptr.dtype.element_ty), mask=mask_v)


@triton.jit
def flash_backward_dq_kernel(
    # inputs, outputs
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, seed_ptr, dq_ptr,
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
    len_q, len_k, left, right, scale, softcap, dropout_threshold, keep_scale,
    # constexprs
    HEAD_DIM: tl.constexpr,
    HEAD_DIM_V: tl.constexpr,
    HAS_LEFT: tl.constexpr,
    HAS_RIGHT: tl.constexpr,
    HAS_SOFTCAP: tl.constexpr,
    HAS_DROPOUT: tl.constexpr,
    DOT_PRECISION: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Each program owns BLOCK_M queries of one head and streams the keys and values they see."""
    row_tiles = tl.cdiv(len_q, BLOCK_M)
    # under a causal mask the last queries see most keys: descending is heaviest first
    pid_m = row_tiles - 1 - tl.program_id(0) % row_tiles
    pid_bh = tl.program_id(0) // row_tiles
    b = (pid_bh // heads_q).to(tl.int64)
    h = (pid_bh % heads_q).to(tl.int64)
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
    stop_m = tl.minimum(start_m + BLOCK_M, len_q)
    low, full_low, full_high, high = tiles_seen(
        start_m, stop_m, diagonal, left, right, len_k, HAS_LEFT, HAS_RIGHT, BLOCK_N
    )
    if HAS_LEFT:
        k_ptr += low.to(tl.int64) * stride_kn
        v_ptr += low.to(tl.int64) * stride_vn
    step_n = tl.full([], BLOCK_N, tl.int64)

    for PART in tl.static_range(0 if HAS_LEFT else 1, 3):
        part_low = low if PART < WHOLE else full_low if PART == WHOLE else full_high
        part_high = full_low if PART < WHOLE else full_high if PART == WHOLE else high
        for start_n in range(part_low, part_high, BLOCK_N):
            # step: load_kv
            cols = start_n + offs_n  # [BLOCK_N]
            mask_n = cols < len_k
            mask_k, mask_v = mask_d[None, :], mask_dv[None, :]
            if PART != WHOLE:
                # keys past len_k load as 0 and are masked below
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
                    rows[:, None] + diagonal, cols[None, :], mask_n[None, :],
                    left, right, HAS_LEFT, HAS_RIGHT,
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


class Gradients(NamedTuple):
    """What backward returns; None for what was not asked for, and for no sink."""

    dq: torch.Tensor | None
    dk: torch.Tensor | None
    dv: torch.Tensor | None
    dsink: torch.Tensor | None


def flash_backward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
    dlse: torch.Tensor | None = None,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    seed: torch.Tensor | None = None,
    tile: TileShape | None = None,
    needs_dq: bool = True,
    needs_dkdv: bool = True,
) -> Gradients:
    """Gradients of `flash_forward` from its outputs; P is rebuilt tile by tile from lse.

    Memory beyond the gradients is Delta, one float32 a row.

        P  = e^(S - lse)            Delta = rowsum(dO * O) - dlse
        dV = P^T dO                 dS = P * (dO V^T - Delta)
        dQ = scale * dS K           dK = scale * dS^T Q          dsink = -sum e^(sink - lse) Delta

    Shapes:
        as in `flash_forward`; any strides, also 0; do as o; dlse as lse.

    Args:
        tile: for all launches; None: chosen for each.
        needs_dq, needs_dkdv: which of the two big launches to do.

    Raises:
        BackendUnavailable, DtypeError, ArgumentError: as `flash_forward`.
    """
    require_kernels(q, k, v, o, lse, do)
    call = Call.of(
        q, k, v, causal=causal, window=window, softcap=softcap, scale=scale, sink=sink,
        dropout_p=dropout_p, seed=seed,
    )  # fmt: skip
    problem, saved = call.problem, (q, k, v, do, lse)
    dq_plan = choose_launch(problem, q.device, tile, "dq")
    dq = dk = dv = None
    with on_device_of(q):
        delta = _delta(call, dq_plan, o, do, dlse)
        if needs_dkdv:
            dk, dv = _dkdv(call, choose_launch(problem, q.device, tile, "dkdv"), *saved, delta)
        if needs_dq:
            dq = _dq(call, dq_plan, *saved, delta)
    return Gradients(dq, dk, dv, None if sink is None else _dsink(sink, lse, delta))


def _delta(
    call: Call, plan: LaunchPlan, o: torch.Tensor, do: torch.Tensor, dlse: torch.Tensor | None
) -> torch.Tensor:
    problem = call.problem
    delta = torch.empty(o.shape[:3], dtype=torch.float32, device=o.device)
    grid = (problem.batch * problem.heads_q * triton.cdiv(problem.len_q, plan.tile.block_m),)
    if grid[0]:
        delta_kernel[grid](
            o, do, dlse, delta,
            *o.stride(), *do.stride(), *(delta if dlse is None else dlse).stride(),
            *delta.stride(),
            problem.heads_q, problem.len_q,
            HEAD_DIM_V=problem.head_dim_v, HAS_DLSE=dlse is not None,
            BLOCK_DV=plan.block_dv, BLOCK_M=plan.tile.block_m, num_warps=plan.num_warps,
        )  # fmt: skip
    return delta


def _meta(call: Call, plan: LaunchPlan, q: torch.Tensor) -> dict[str, Any]:
    """Keyword arguments of the two big launches."""
    return {
        **call.flags,
        "DOT_PRECISION": dot_precision(q),
        "BLOCK_D": plan.block_d,
        "BLOCK_DV": plan.block_dv,
        "BLOCK_M": plan.tile.block_m,
        "BLOCK_N": plan.tile.block_n,
        "num_warps": plan.num_warps,
        "num_stages": plan.num_stages,
    }


def _dkdv(
    call: Call,
    plan: LaunchPlan,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    do: torch.Tensor,
    lse: torch.Tensor,
    delta: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    problem = call.problem
    dk, dv = output_like(k), output_like(v)
    grid = (problem.batch * problem.heads_kv * triton.cdiv(problem.len_k, plan.tile.block_n),)
    if grid[0]:
        flash_backward_dkdv_kernel[grid](
            q, k, v, do, lse, delta, call.seed, dk, dv,
            *q.stride(), *k.stride(), *v.stride(), *do.stride(), *lse.stride(), *delta.stride(),
            *dk.stride(), *dv.stride(),
            problem.heads_kv, problem.group, *call.scalars, **_meta(call, plan, q),
        )  # fmt: skip
    return dk, dv


def _dq(
    call: Call,
    plan: LaunchPlan,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    do: torch.Tensor,
    lse: torch.Tensor,
    delta: torch.Tensor,
) -> torch.Tensor:
    problem = call.problem
    dq = output_like(q)
    grid = (problem.batch * problem.heads_q * triton.cdiv(problem.len_q, plan.tile.block_m),)
    if grid[0]:
        flash_backward_dq_kernel[grid](
            q, k, v, do, lse, delta, call.seed, dq,
            *q.stride(), *k.stride(), *v.stride(), *do.stride(), *lse.stride(), *delta.stride(),
            *dq.stride(),
            problem.heads_q, problem.group, *call.scalars, **_meta(call, plan, q),
        )  # fmt: skip
    return dq


def _dsink(sink: torch.Tensor, lse: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
    """-sum over rows of e^(sink - lse) * Delta: the sink has no value, so only Delta is left."""
    dead = lse == -float("inf")
    p_sink = torch.exp(sink.float()[:, None] - lse.masked_fill(dead, 0.0))
    return -(p_sink * delta).masked_fill(dead, 0.0).sum((0, 2)).to(sink.dtype)
