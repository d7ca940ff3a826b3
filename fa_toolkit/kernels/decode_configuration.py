"""Tile, warps and splits of the decode kernel: chosen by what the device offers. Launches nothing.

Decoding is bound by memory, so a plan seeks loads in flight: small tiles, two blocks on every SM.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import torch

from ..problem import AttentionProblem, TileShape
from .configuration import (
    INTERPRETER,
    SMALLEST_DOT,
    Device,
    LaunchPlan,
    _check_tile,
    _padded,
    device_of,
    plan_launch,
)

BLOCKS_PER_SM = 2
MOST_SPLITS = 128  # more parts cost the merge more than they hide
TALLEST_TILE = 64
INTERPRETER_SMS = 2
# attention takes the path of decoding for at most as many queries, at least as many keys in sight
FEW_QUERIES = 128
LONG_KEYS = 1024  # the second launch takes as long as reading some hundred keys
OVERLAP_SINCE = (9, 0)  # compute capability that can launch a kernel ahead of what it waits for
SHORTEST_SPLIT = 128  # keys; shorter ones cost the merge more than they hide


@dataclass(frozen=True)
class DecodePlan:
    """How to launch the decode kernel.

    Args:
        launch: tile of BLOCK_M packed query rows by BLOCK_N keys, warps, stages, padded widths.
        splits: programs that share the keys of one tile of rows.
        overlap: whether the merge is launched while splits still run, and waits for them.
    """

    launch: LaunchPlan
    splits: int
    overlap: bool = False


def packed_rows(problem: AttentionProblem) -> int:
    """Rows of the tile of one key head: its whole group of query heads, for every new query."""
    return problem.group * problem.len_q


def plan_decode(
    problem: AttentionProblem,
    device: Device,
    sms: int,
    *,
    tile: TileShape | None = None,
    num_splits: int | None = None,
) -> DecodePlan:
    """A configuration of the decode kernel that fits `device`, which has `sms` multiprocessors.

    Args:
        tile: BLOCK_M and BLOCK_N; None: chosen.
        num_splits: None: chosen so that two blocks run on every SM, where the cache is long
            enough to give each split a tile.

    Raises:
        DtypeError: if the device cannot compute this type.
        ArgumentError: if the given tile is no power of two or too small.
    """
    plan_launch(problem, device)  # refuses a dtype that this device cannot compute
    if tile is not None:
        _check_tile(tile, device)
    plans = list(_plans(problem, device, tile))
    fits = [p for p in plans if p.shared(problem.itemsize, device) <= device.shared]
    roomy = (p for p in fits if BLOCKS_PER_SM * p.shared(problem.itemsize, device) <= device.shared)
    launch = next(roomy, (fits or plans)[0])
    row_tiles = -(-packed_rows(problem) // launch.tile.block_m)
    programs = problem.batch * problem.heads_kv * row_tiles
    key_tiles = -(-problem.len_k // launch.tile.block_n)
    splits = num_splits or choose_splits(programs, key_tiles, sms)
    return DecodePlan(launch, splits, splits > 1 and device.capability >= OVERLAP_SINCE)


def _plans(
    problem: AttentionProblem, device: Device, tile: TileShape | None
) -> Iterator[LaunchPlan]:
    """Candidates, best first: all rows in one tile, then long runs of keys, then deep pipelines."""
    d, dv = _padded(problem.head_dim), _padded(problem.head_dim_v)
    tallest = min(TALLEST_TILE, _padded(packed_rows(problem)))
    if tile is not None:
        tiles = [tile]
    else:
        heights = [m for m in (64, 32, SMALLEST_DOT) if m <= tallest]
        tiles = [TileShape(m, n) for m in heights for n in (64, 32, SMALLEST_DOT)]
    for shape in tiles:
        for stages in (3, 2, 1) if device.capability >= (8, 0) else (1,):
            yield LaunchPlan(shape, 4, stages, d, dv)


def choose_splits(programs: int, key_tiles: int, sms: int) -> int:
    """The most splits with which all blocks still run at once, two on every SM; at least 1.

    Never more than there are tiles. Blocks that begin when others end cost more than idle places.

    Example:
        >>> choose_splits(programs=8, key_tiles=512, sms=132)  # one sequence, 8 key heads, H100
        33
        >>> choose_splits(programs=512, key_tiles=512, sms=132)  # 64 sequences: enough as it is
        1
    """
    wanted = BLOCKS_PER_SM * sms // max(programs, 1)
    return max(1, min(wanted, key_tiles, MOST_SPLITS))


def split_plan(
    problem: AttentionProblem, device: Device, sms: int, *, dropout: bool = False
) -> DecodePlan | None:
    """Whether `flash_forward` takes the path of decoding, and how; None: its own kernel.

    It does for few queries and long keys, if a tile of packed rows then saves the heads of a group
    their own loads, or if a program for each tile of queries would leave half of the device idle.

    Example:
        >>> hopper = Device((9, 0), 232448)
        >>> step = AttentionProblem(1, 32, 8, 1, 8192, 128)  # one sequence, one query
        >>> split_plan(step, hopper, 132).splits
        33
        >>> split_plan(AttentionProblem(1, 32, 8, 8192, 8192, 128), hopper, 132) is None
        True
    """
    if dropout or not 0 < problem.len_q <= FEW_QUERIES or problem.len_k < LONG_KEYS:
        return None
    low, high = problem.visible_keys(0, problem.len_q)
    heads = problem.batch * problem.heads_q
    if high - low < LONG_KEYS or not heads:
        return None
    shared = problem.group > 1 and packed_rows(problem) <= TALLEST_TILE
    programs = heads * -(-problem.len_q // plan_launch(problem, device).tile.block_m)
    if not shared and 2 * programs > sms:
        return None
    height = plan_decode(problem, device, sms).launch.tile.block_m
    programs = problem.batch * problem.heads_kv * -(-packed_rows(problem) // height)
    splits = choose_splits(programs, (high - low) // SHORTEST_SPLIT, sms)
    if not shared and splits == 1:
        return None
    return plan_decode(problem, device, sms, num_splits=splits)


def choose_split(
    problem: AttentionProblem, device: torch.device, *, dropout: bool = False
) -> DecodePlan | None:
    """`split_plan` for the device that tensors of this call live on."""
    return split_plan(problem, *_device(device), dropout=dropout)


def choose_decode(
    problem: AttentionProblem,
    device: torch.device,
    *,
    tile: TileShape | None = None,
    num_splits: int | None = None,
) -> DecodePlan:
    """`plan_decode` for the device that tensors of this call live on."""
    return plan_decode(problem, *_device(device), tile=tile, num_splits=num_splits)


def _device(device: torch.device) -> tuple[Device, int]:
    """What decides a configuration there, and how many multiprocessors it has."""
    from . import runtime

    if device.type != "cuda" or runtime.mode() != "gpu":
        return INTERPRETER, INTERPRETER_SMS
    return device_of(device.index), _sms(device.index)


@cache
def _sms(index: int | None) -> int:
    return int(torch.cuda.get_device_properties(index).multi_processor_count)
