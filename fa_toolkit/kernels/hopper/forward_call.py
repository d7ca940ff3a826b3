"""Launches the Hopper forward: descriptors, order of the tiles, one call.

Whether a call may come here is decided in `availability`; nothing is checked again.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

from .configuration import GRID, Config, forward_config, plan_of
from .counters import counter_for
from .forward import hopper_forward_kernel
from .gluon import TensorDescriptor, gl

LOG2_E = math.log2(math.e)


@functools.cache
def _layout(block: tuple[int, ...], dtype: torch.dtype) -> Any:
    """How the copy engine lays out a tile in shared memory: as the tensor cores read it."""
    kind = gl.bfloat16 if dtype == torch.bfloat16 else gl.float16
    return gl.NVMMASharedLayout.get_default_for(list(block), kind)


def tiles_of(x: torch.Tensor, rows: int) -> Any:
    """Descriptor of tiles of `rows` rows of one head of x, [B, H, N, D]."""
    block = [1, 1, rows, x.shape[-1]]
    return TensorDescriptor(
        x, list(x.shape), list(x.stride()), block, _layout(tuple(block), x.dtype)
    )


@functools.lru_cache(maxsize=1024)
def even_section(heads: int, most: int, causal: bool) -> int:
    """Heads of a section, at most `most`; under a mask such that the last section is as full as it can be.

    There the heavy tiles of the last section are the last to begin. If it has few heads, most programs
    are done long before them: 16 heads in sections of three lose 4 % to the one that is left over.

    Example:
        >>> even_section(16, 3, True), even_section(17, 8, True), even_section(16, 3, False)
        (2, 6, 3)
    """
    if heads <= most or not causal:
        return min(heads, most)
    sizes = range(-(-most // 2), most + 1)
    return max(sizes, key=lambda size: (((heads - 1) % size + 1) / size, size))


def section_of(config: Config, k: torch.Tensor, heads_q: int, causal: bool) -> int:
    """Query heads whose keys and values fit the part of the L2 cache they may have, at least one group."""
    b, heads, n, d = k.shape
    most = max(1, int(config.section_mb * 2**20) // (2 * n * d * k.element_size()))
    return even_section(b * heads, most, causal) * (heads_q // heads)


def forward_arguments(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    counter: torch.Tensor,
    *,
    causal: bool,
    scale: float,
    config: Config,
    programs: int,
) -> tuple[tuple[int], tuple[Any, ...], dict[str, Any]]:
    """Grid, arguments and constants of the kernel."""
    b, hq, nq, d = q.shape
    hk, nk = k.shape[1], k.shape[2]
    row_tiles = -(-nq // (config.rows * config.groups))
    total = b * hq * row_tiles
    grid = total if config.schedule == GRID else min(total, programs * config.per_sm)
    arguments = (
        tiles_of(q, config.rows), tiles_of(k, config.block_n), tiles_of(v, config.block_n),
        tiles_of(o, config.rows), lse, counter,
        nq, nk, hq, hq // hk, row_tiles, total, section_of(config, k, hq, causal), scale * LOG2_E,
    )  # fmt: skip
    plan = plan_of(config, d, nq, nk, causal)
    constants: dict[str, Any] = {"plan": plan, "num_warps": 4}
    if config.per_sm > 1:
        constants["maxnreg"] = 65536 // (config.threads * config.per_sm) // 8 * 8
    return (grid,), arguments, constants


def processors(device: torch.device) -> int:
    """Multiprocessors of a GPU."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def hopper_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool,
    scale: float | None = None,
    config: Config | None = None,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
    programs: int = 0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention on a Hopper GPU: o as q, and lse in natural units, -inf for rows that see no key.

    Shapes:
        q: [B, Hq, Nq, D]; k, v: [B, Hkv, Nk, D]; lse: [B, Hq, Nq] float32.

    Args:
        q, k, v: bf16 or fp16, D 64, 128 or 256, strides that a descriptor takes.
        causal: query i sees keys up to i + Nk - Nq.
        scale: of the scores; 1 / sqrt(D) if None.
        config: how to run; chosen from the sizes if None.
        out: (o, lse) to write to.
        programs: on the whole GPU, times `per_sm`; one for each SM if 0.
    """
    d = q.shape[-1]
    scale = 1 / math.sqrt(d) if scale is None else scale
    config = config or forward_config(d, q.shape[2], k.shape[2], causal)
    if out is None:
        out = torch.empty_like(q), torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    o, lse = out
    counter = counter_for(q.device)
    grid, arguments, constants = forward_arguments(
        q, k, v, o, lse, counter, causal=causal, scale=scale, config=config,
        programs=programs or processors(q.device),
    )  # fmt: skip
    hopper_forward_kernel[grid](*arguments, **constants)
    return o, lse
