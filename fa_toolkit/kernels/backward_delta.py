"""First launch of the backward pass: Delta = rowsum(dO * O) - dlse, one number a row."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .call import Call, grid_of
from .configuration import LaunchPlan
from .precision import SAME_SUM
from .prepared import Launches
from .tiles import place_of_program, tile_ptrs


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
    ON_AXES: tl.constexpr,
    BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr,
):  # fmt: skip
    """Each program owns BLOCK_M queries of one head: Delta = rowsum(dO * O) - dlse."""
    row_tiles = tl.cdiv(len_q, BLOCK_M)
    pid_m, b, h = place_of_program(row_tiles, heads_q, 1, ON_AXES)
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


def empty_delta(o: torch.Tensor) -> torch.Tensor:
    """Where Delta of these rows goes: [B, Hq, Nq], float32."""
    return torch.empty(o.shape[:3], dtype=torch.float32, device=o.device)


class DeltaLaunch:
    """Launcher of `delta_kernel` for calls that are alike, all with a gradient of lse or none."""

    def __init__(self, call: Call, plan: LaunchPlan, has_dlse: bool) -> None:
        self.problem = problem = call.problem
        tiles = triton.cdiv(problem.len_q, plan.tile.block_m)
        grid = grid_of(tiles, problem.heads_q, problem.batch)
        self.launches = Launches(
            delta_kernel, grid,
            HEAD_DIM_V=problem.head_dim_v, HAS_DLSE=has_dlse, ON_AXES=len(grid) > 1,
            BLOCK_DV=plan.block_dv, BLOCK_M=plan.tile.block_m, num_warps=plan.num_warps,
            **SAME_SUM,
        )  # fmt: skip

    def __call__(
        self, o: torch.Tensor, do: torch.Tensor, dlse: torch.Tensor | None
    ) -> torch.Tensor:
        """Allocate Delta and start the kernel."""
        delta = empty_delta(o)
        if delta.numel():
            self.launches(
                o, do, dlse, delta,
                numbers=lambda: (
                    *o.stride(), *do.stride(), *(delta if dlse is None else dlse).stride(),
                    *delta.stride(),
                    self.problem.heads_q, self.problem.len_q,
                ),
            )  # fmt: skip
        return delta
