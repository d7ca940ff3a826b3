"""Launches the Hopper backward: rows, then all three gradients, then dQ out of its sums.

Whether a call may come here is decided in `availability`; nothing is checked again.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from ..call import output_like
from ..precision import SAME_SUM
from .backward import hopper_backward_kernel
from .backward_configuration import (
    GROUP_KEYS,
    PER_PROGRAM,
    BackwardConfig,
    BackwardPlan,
    backward_config,
)
from .backward_ends import ROWS, hopper_finish_kernel, hopper_prepare_kernel
from .forward_call import LOG2_E, even_section, processors, tiles_of
from .gluon import TensorDescriptor, gl

FLOAT = 32  # bits of a sum

#: a kernel, its grid, arguments and constants
Launch = tuple[Any, tuple[int], tuple[Any, ...], dict[str, Any]]


def table_of(x: torch.Tensor, block: list[int], swizzle: int) -> Any:
    """Descriptor of a float32 matrix in tiles."""
    layout = gl.NVMMASharedLayout(swizzle_byte_width=swizzle, element_bitwidth=FLOAT, rank=2)
    return TensorDescriptor(x, list(x.shape), list(x.stride()), block, layout)


def backward_arguments(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    do: torch.Tensor,
    dk: torch.Tensor,
    dv: torch.Tensor,
    stats: torch.Tensor,
    sums: torch.Tensor,
    counter: torch.Tensor,
    *,
    causal: bool,
    scale: float,
    config: BackwardConfig,
    programs: int,
) -> tuple[tuple[int], tuple[Any, ...], dict[str, Any]]:
    """Grid, arguments and constants of the kernel."""
    b, hq, nq, d = q.shape
    hk, nk = k.shape[1], k.shape[2]
    m = config.block_m
    key_tiles, query_tiles = -(-nk // PER_PROGRAM), -(-nq // m)
    total = b * hk * key_tiles
    # a section fills the GPU once: larger ones read Q and dO anew for every tile of keys; under a mask,
    # where lengths differ, up to twice, so that the last one can be even
    section = config.section or even_section(
        b * hk, -(-(1 + causal) * programs // key_tiles), causal
    )
    plan = BackwardPlan.of(config, d=d, causal=causal, ragged=nk % PER_PROGRAM != 0)
    arguments = (
        tiles_of(q, m), tiles_of(k, GROUP_KEYS), tiles_of(v, GROUP_KEYS), tiles_of(do, m),
        table_of(stats.view(-1, 2 * m), [1, 2 * m], 0), table_of(sums.view(-1, 32), plan.sums_tile, 128),
        tiles_of(dk, GROUP_KEYS), tiles_of(dv, GROUP_KEYS),
        nq, nk, hk, hq // hk, key_tiles, query_tiles, section, scale * LOG2_E, scale, total,
        counter,
    )  # fmt: skip
    grid = min(total, programs) if config.persistent else total
    return (grid,), arguments, {"plan": plan, "num_warps": 4}


def padded_rows(len_q: int, config: BackwardConfig) -> int:
    """Queries of one head in whole tiles."""
    return -(-len_q // config.block_m) * config.block_m


def scratch(
    q: torch.Tensor, config: BackwardConfig
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What the launches hand to each other: statistics of the rows, sums of dQ, a counter."""
    b, hq, nq, d = q.shape
    rows = b * hq * padded_rows(nq, config)
    return (
        torch.empty(rows, 2, dtype=torch.float32, device=q.device),
        torch.empty(rows, d, dtype=torch.float32, device=q.device),
        torch.empty(1, dtype=torch.int32, device=q.device),
    )


def backward_launches(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
    dlse: torch.Tensor | None,
    dq: torch.Tensor,
    dk: torch.Tensor,
    dv: torch.Tensor,
    stats: torch.Tensor,
    sums: torch.Tensor,
    counter: torch.Tensor,
    *,
    causal: bool,
    scale: float,
    config: BackwardConfig,
    programs: int,
) -> list[Launch]:
    """The three launches in their order; nothing is launched here, and nothing allocated.

    Args:
        stats: [B Hq Nq', 2] float32, where Nq' is Nq in whole tiles; written by the first launch.
        sums: [B Hq Nq', D] float32.
        counter: [1] int32, written by the first launch; tiles of keys drawn so far.
        programs: that run at the same time on the GPU.
    """
    b, hq, nq, d = q.shape
    padded = padded_rows(nq, config)
    ends = (b * hq * padded // ROWS,)
    prepare = (
        o, do, lse, lse if dlse is None else dlse, stats, sums, counter,
        *o.stride()[:3], *do.stride()[:3], hq, nq, padded,
    )  # fmt: skip
    finish = (sums, dq, *dq.stride()[:3], hq, nq, padded, scale)
    fixed: dict[str, Any] = {"D": d, "ROWS": ROWS, "num_warps": 8}
    grid, arguments, constants = backward_arguments(
        q, k, v, do, dk, dv, stats, sums, counter, causal=causal, scale=scale, config=config,
        programs=programs,
    )  # fmt: skip
    first = {"BLOCK_M": config.block_m, "HAS_DLSE": dlse is not None, **SAME_SUM}
    last = {"PARTS": 1 if constants["plan"].split_rows else 2}
    return [
        (hopper_prepare_kernel, ends, prepare, fixed | first),
        (hopper_backward_kernel, grid, arguments, constants),
        (hopper_finish_kernel, ends, finish, fixed | last),
    ]


def hopper_backward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
    *,
    causal: bool,
    scale: float | None = None,
    dlse: torch.Tensor | None = None,
    config: BackwardConfig | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of `hopper_forward` on a Hopper GPU: dQ, dK, dV.

    dK and dV are the same to the last bit in every run. dQ is added up by the programs in the order
    in which they come, in 4 Nq D bytes a head, beside the 8 Nq of lse and Delta.

    Shapes:
        q, o, do: [B, Hq, Nq, D]; k, v: [B, Hkv, Nk, D]; lse, dlse: [B, Hq, Nq] float32, contiguous.

    Args:
        q, k, v, o, do: bf16 or fp16, D 64 or 128, strides that a descriptor takes.
        lse: in natural units, -inf for rows that see no key.
        causal: query i sees keys up to i + Nk - Nq.
        scale: of the scores; 1 / sqrt(D) if None.
        dlse: gradient that flows into lse.
        config: how to run; chosen from the sizes if None.
    """
    d = q.shape[3]
    scale = 1 / math.sqrt(d) if scale is None else scale
    config = config or backward_config(d, q.shape[2], k.shape[2], causal)
    held = scratch(q, config)
    grads = output_like(q), output_like(k), output_like(v)
    launches = backward_launches(
        q, k, v, o, lse, do, dlse, *grads, *held, causal=causal, scale=scale, config=config,
        programs=processors(q.device),
    )  # fmt: skip
    for kernel, grid, arguments, constants in launches:
        kernel[grid](*arguments, **constants)
    return grads
