"""Flash Attention forward: one program per tile of queries, keys and values streamed past it.

No gradients: those are in `flash_backward`; `fa_toolkit.flash_attention` is the public door.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import triton
import triton.language as tl

from ..problem import TileShape
from .call import Call, output_like
from .configuration import ALIGNMENT, choose_launch, readable
from .decode_configuration import choose_split
from .descriptors import rows_of
from .launching import on_device_of, require_kernels
from .precision import dot_precision
from .prepared import Launches
from .tiles import (
    LN_2,
    LOG2_E,
    WHOLE,
    kept,
    load_rows,
    partners_seen,
    place_of_program,
    sequence_at,
    sequence_span,
    store_rows,
    tanh,
    tile_ptrs,
    tiles_seen,
    visible_pairs,
)


@triton.jit
def online_softmax_step(m_i, l_i, acc, s, unit, v, keep, DOT_PRECISION: tl.constexpr):
    """Fold one tile of scores into the running state (m, l, O).

    The scores in base-2 units are s * unit, and unit is positive: kept apart, the product and the
    subtraction of the maximum are one instruction. `keep` marks what dropout leaves of the
    tile, None for all; the sum l never drops a term.
    """
    m_new = tl.maximum(m_i, tl.max(s, axis=1) * unit)  # [BLOCK_M]
    # a row that has seen no key yet has m_new = -inf: subtract 0 there, never -inf from -inf
    pivot = tl.where(m_new == -float("inf"), 0.0, m_new)  # [BLOCK_M]
    alpha = tl.exp2(m_i - pivot)  # [BLOCK_M]
    p = tl.exp2(s * unit - pivot[:, None])  # [BLOCK_M, BLOCK_N]
    l_i = l_i * alpha + tl.sum(p, axis=1)
    if keep is not None:
        p = tl.where(keep, p, 0.0)
    acc = acc * alpha[:, None]  # [BLOCK_M, BLOCK_DV]
    acc = tl.dot(p.to(v.dtype), v, acc, input_precision=DOT_PRECISION)
    return m_new, l_i, acc


@triton.jit
def flash_forward_kernel(
    # inputs, outputs
    q_ptr, k_ptr, v_ptr, sink_ptr, seed_ptr, cu_q_ptr, cu_k_ptr, o_ptr, lse_ptr,
    # q, k, v and o for the copy engine, or None: then pointers load and store them
    q_desc, k_desc, v_desc, o_desc,
    # strides, in elements
    stride_qb, stride_qh, stride_qn, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_ob, stride_oh, stride_on, stride_od,
    stride_lb, stride_lh, stride_ln,
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
    HAS_SINK: tl.constexpr,
    HAS_EDGE: tl.constexpr,
    LAST_FIRST: tl.constexpr,
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
    pid_m, b, h = place_of_program(row_tiles, heads_q, SIDE, ON_AXES)
    if LAST_FIRST:
        # under a causal mask the last queries see most keys: heaviest first
        pid_m = row_tiles - 1 - pid_m
    if IS_PACKED:
        # from here on lengths and positions are those of one sequence
        b, pid_m, start_q, len_q = sequence_at(cu_q_ptr, pid_m, sequences, len_q, BLOCK_M)
        start_k, len_k = sequence_span(cu_k_ptr, b, sequences, len_k)
        # rows of no sequence see no keys, and neither does a slot past the last tile
        len_k = tl.where((b < sequences) & (pid_m * BLOCK_M < len_q), len_k, 0)
        q_ptr += start_q.to(tl.int64) * stride_qn
        k_ptr += start_k.to(tl.int64) * stride_kn
        v_ptr += start_k.to(tl.int64) * stride_vn
        o_ptr += start_q.to(tl.int64) * stride_on
        lse_ptr += start_q.to(tl.int64) * stride_ln
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
    if q_desc is not None:
        q = load_rows(q_desc, b, h, start_m, BLOCK_M, BLOCK_D)
    else:
        q_ptrs = tile_ptrs(q_ptr, offs_m, offs_d, stride_qn, stride_qd)
        q = tl.load(q_ptrs, mask=mask_m[:, None] & mask_d[None, :], other=0.0)
    # [BLOCK_M, BLOCK_D]

    m_i = tl.full([BLOCK_M], -float("inf"), tl.float32)  # base-2 units
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_DV], tl.float32)
    if HAS_SINK:
        # a sink is a key without a value, seen by every row
        sink = tl.load(sink_ptr + h, mask=b < sequences, other=-float("inf"))
        m_i = tl.zeros([BLOCK_M], tl.float32) + sink * LOG2_E
        l_i = tl.where(m_i == -float("inf"), 0.0, 1.0)
    if HAS_DROPOUT:
        seed = tl.load(seed_ptr)
    unit = (softcap if HAS_SOFTCAP else scale) * LOG2_E

    # query row i stands at key position i + Nk - Nq (bottom-right)
    diagonal = len_k - len_q
    first, last = partners_seen(offs_m, diagonal, left, right, len_k, HAS_LEFT, HAS_RIGHT)
    stop_m = tl.minimum(start_m + BLOCK_M, len_q)
    low, full_low, full_high, high = tiles_seen(
        start_m, stop_m, diagonal, left, right, len_k, HAS_LEFT, HAS_RIGHT, BLOCK_N
    )
    if HAS_LEFT:
        k_ptr += low.to(tl.int64) * stride_kn
        v_ptr += low.to(tl.int64) * stride_vn
    step_n = tl.full([], BLOCK_N, tl.int64)

    # tiles cut by the left bound, tiles that every row sees whole, tiles cut by the right bound
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
                k = tl.trans(load_rows(k_desc, b, h // group, start_n, BLOCK_N, BLOCK_D))
                v = load_rows(v_desc, b, h // group, start_n, BLOCK_N, BLOCK_DV)
            else:
                mask_k, mask_v = mask_d[:, None], mask_dv[None, :]
                if PART != WHOLE:
                    mask_k, mask_v = mask_k & mask_n[None, :], mask_v & mask_n[:, None]
                k_ptrs = tile_ptrs(k_ptr, offs_d, offs_n, stride_kd, stride_kn)
                v_ptrs = tile_ptrs(v_ptr, offs_n, offs_dv, stride_vn, stride_vd)
                k = tl.load(k_ptrs, mask=mask_k, other=0.0)  # [BLOCK_D, BLOCK_N]
                v = tl.load(v_ptrs, mask=mask_v, other=0.0)  # [BLOCK_N, BLOCK_DV]
                k_ptr += step_n * stride_kn
                v_ptr += step_n * stride_vn

            # step: scores
            s = tl.dot(q, k, input_precision=DOT_PRECISION)  # [BLOCK_M, BLOCK_N]
            if HAS_SOFTCAP:
                s = tanh(s * (scale / softcap))

            # step: mask
            if PART != WHOLE:
                visible = visible_pairs(
                    cols[None, :], mask_n[None, :], first[:, None], last[:, None], HAS_LEFT, HAS_RIGHT,
                )  # fmt: skip
                s = tl.where(visible, s, -float("inf"))

            # step: update
            keep = None
            if HAS_DROPOUT:
                keep = kept(seed, b, h, offs_m[:, None], cols[None, :], dropout_threshold)
            m_i, l_i, acc = online_softmax_step(m_i, l_i, acc, s, unit, v, keep, DOT_PRECISION)

    # step: store
    # a row that sees no key has l = 0 and m = -inf: it stores o = 0, lse = -inf
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)  # [BLOCK_M]
    o = acc * (1.0 / l_safe)[:, None]  # [BLOCK_M, BLOCK_DV]
    if HAS_DROPOUT:
        o = o * keep_scale
    o = o.to(o_ptr.dtype.element_ty)
    if o_desc is not None:
        store_rows(o_desc, b, h, start_m, o, BLOCK_M, BLOCK_DV)
    else:
        o_ptrs = tile_ptrs(o_ptr, offs_m, offs_dv, stride_on, stride_od)
        tl.store(o_ptrs, o, mask=mask_m[:, None] & mask_dv[None, :])
    lse = (m_i + tl.log2(l_safe)) * LN_2  # [BLOCK_M], natural units
    tl.store(lse_ptr + offs_m.to(tl.int64) * stride_ln, lse, mask=mask_m)


def flash_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    seed: torch.Tensor | None = None,
    tile: TileShape | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention output and log-sum-exp, without ever storing the scores.

    Launcher of `flash_forward_kernel`: it allocates, chooses a tile that fits the device, and
    starts one program per tile of queries. Few queries over many keys are too little work for that:
    they are attended as decoding does it, see `decode_configuration.split_plan`; never under
    dropout or with a given tile. Validation and autograd: `fa_toolkit.flash_attention`.

    Shapes:
        q: [B, Hq, Nq, D]; k: [B, Hkv, Nk, D]; v: [B, Hkv, Nk, Dv]; any strides; sink: [Hq];
        o: [B, Hq, Nq, Dv], laid out as q; lse: [B, Hq, Nq], float32, natural logarithm.

    Args:
        window, softcap, scale, sink, dropout_p: as in `fa_toolkit.flash_attention`.
        seed: one int64 on the device of q, needed under dropout.
        tile: BLOCK_M and BLOCK_N, powers of two (on a GPU at least 16); None: chosen.

    Raises:
        BackendUnavailable: if kernels cannot run here.
        ShapeError: if q, k and v do not fit each other.
        DtypeError: if the device cannot compute this type.
        ArgumentError: if the tile cannot run on this device.
    """
    ready = prepare_forward(
        q, k, v, causal=causal, window=window, softcap=softcap, scale=scale, sink=sink,
        dropout_p=dropout_p, seed=seed, tile=tile,
    )  # fmt: skip
    return ready(q, k, v)


def prepare_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    tile: TileShape | None = None,
    **options: Any,
) -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """All of `flash_forward` that depends on sizes, strides and options alone.

    Returns:
        A function of (q, k, v), for tensors with the sizes, strides, dtype, device and alignment of
        these, that allocates, launches and returns (o, lse).

    Raises:
        as `flash_forward`.
    """
    require_kernels(q, k, v)
    call = Call.of(q, k, v, **options)
    split = None
    if tile is None:
        split = choose_split(call.problem, q.device, dropout=call.dropout_p > 0)
    if split is not None:
        from .flash_decode import attend_split

        return lambda q, k, v: attend_split(call, q, k, v, split)
    return ForwardLaunch(call, q, k, v, tile)


class ForwardLaunch:
    """One call of the kernel: its tile, its grid and its numbers; packed sequences come as one batch.

    Shapes:
        q, k, v: [B, H, N, D]; packed: [1, H, T, D].
    """

    def __init__(
        self,
        call: Call,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        tile: TileShape | None,
    ) -> None:
        problem = call.problem
        # the kernel's unit must be positive: q takes the sign, and the 0, of the scale
        scale = abs(call.scale)
        none = scale < torch.finfo(torch.float32).tiny
        self.factor = 0.0 if none else math.copysign(1.0, call.scale)
        self.call = call = replace(call, scale=1.0 if none else scale)
        q = self._signed(q)
        aligned = call.cu_seqlens is None and readable(q, k, v)
        self.plan = plan = choose_launch(problem, q.device, tile, aligned=aligned)
        # behind a causal mask storing by pointers is faster
        width = problem.head_dim_v * problem.itemsize
        self.copies_o = plan.descriptors and problem.right is None and width % ALIGNMENT == 0
        grid = call.grid(problem.heads_q, problem.len_q, plan.tile.block_m, plan.side, plan.on_axes)
        self.launches = Launches(
            flash_forward_kernel, grid, **plan.meta, **call.flags,
            HAS_SINK=call.sink is not None, HAS_EDGE=call.has_edge(plan), LAST_FIRST=plan.last_first,
            SIDE=plan.side, ON_AXES=len(grid) > 1, DOT_PRECISION=dot_precision(q),
        )  # fmt: skip

    def _signed(self, q: torch.Tensor) -> torch.Tensor:
        return q if self.factor == 1.0 else q * self.factor

    def _descriptors(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor
    ) -> tuple[Any, ...]:
        plan = self.plan
        if not plan.descriptors:
            return None, None, None, None
        m, n = plan.tile.block_m, plan.tile.block_n
        d, dv = plan.block_d, plan.block_dv
        stored = rows_of(o, m, dv) if self.copies_o else None
        return rows_of(q, m, d), rows_of(k, n, d), rows_of(v, n, dv), stored

    def __call__(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Allocate (o, lse) and start the kernel."""
        call, problem = self.call, self.call.problem
        o = output_like(q, problem.head_dim_v)
        lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
        if not lse.numel():
            return o, lse
        q = self._signed(q)
        with on_device_of(q):
            self.launches(
                q, k, v, call.sink, call.seed, *call.offsets, o, lse, *self._descriptors(q, k, v, o),
                numbers=lambda: (
                    *call.strides(q, k, v, o, lse),
                    problem.heads_q, problem.group, *call.scalars,
                ),
            )  # fmt: skip
        return o, lse
