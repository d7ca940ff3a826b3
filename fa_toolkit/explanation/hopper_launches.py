"""The launches of the kernels for Hopper, with bytes from the I/O model."""

from __future__ import annotations

from collections.abc import Iterator

from ..io_model import flash_backward_traffic, flash_forward_traffic, issued_flops, visited_tiles
from ..kernels.hopper.availability import Pass
from ..kernels.hopper.configuration import GRID, forward_config, plan_of
from ..problem import AttentionProblem, TileShape
from .answer import Launch
from .targets import Target

_SUM = 4  # bytes of a float32: of lse, of Delta, of each sum of dQ
_ROWS = 64  # of one program before and after the backward


def hopper_forward_launches(problem: AttentionProblem, target: Target) -> Iterator[Launch]:
    """One launch, of as many programs as stay on the SMs."""
    p = problem
    config = forward_config(p.head_dim, p.len_q, p.len_k, p.right is not None)
    tile = TileShape(config.groups * config.rows, config.block_n)
    row_tiles = p.batch * p.heads_q * -(-p.len_q // tile.block_m)
    programs = row_tiles
    if config.schedule != GRID:
        programs = min(row_tiles, _sms(target) * config.per_sm)
    plan = plan_of(config, p.head_dim, p.len_q, p.len_k, p.right is not None)
    # of the tile on the diagonal a group makes only the scores that some row of it sees
    unmade = sum(tile.block_n - plan.first_columns(group) for group in range(config.groups))
    yield _launch(
        "hopper_forward_kernel", "forward", p, target, tile, programs,
        flash_forward_traffic(p, tile).phases["forward"],
        warps=4 * config.groups + 1, stages=config.stages, shared=config.shared(p.head_dim),
        flops=issued_flops(p, tile) - 2 * row_tiles * unmade * config.rows * p.head_dim,
    )  # fmt: skip


def hopper_backward_launches(problem: AttentionProblem, target: Target) -> Iterator[Launch]:
    """Delta and zeroed sums, then all three gradients in one pass, then the sums of dQ rounded."""
    from ..kernels.hopper.backward_configuration import PER_PROGRAM, backward_config

    p = problem
    config = backward_config(p.head_dim, p.len_q, p.len_k, p.right is not None)
    tile = TileShape(config.block_m, PER_PROGRAM)
    padded = p.batch * p.heads_q * -(-p.len_q // tile.block_m) * tile.block_m
    rows, sums = TileShape(_ROWS, 1), padded * p.head_dim * _SUM
    reads, writes = flash_backward_traffic(p, tile).phases["delta"]
    # lse is read and both are written, a pair for each row, and the sums begin at 0
    lse = p.batch * p.heads_q * p.len_q * _SUM
    first = (reads + lse, writes - lse + 2 * padded * _SUM + sums)
    yield _launch(
        "hopper_prepare_kernel", "backward", p, target, rows, padded // _ROWS, first, warps=8
    )
    programs = p.batch * p.heads_kv * -(-p.len_k // PER_PROGRAM)
    if config.persistent:
        programs = min(programs, _sms(target))
    visited = p.batch * p.heads_q * visited_tiles(p, tile)
    added = visited * tile.block_m * p.head_dim * _SUM  # read and written where they lie, in L2
    reads, writes = flash_backward_traffic(p, tile).phases["dkdv"]
    yield _launch(
        "hopper_backward_kernel", "backward", p, target, tile, programs,
        (reads + added, writes + added),
        warps=9, stages=config.stages, shared=config.shared(p.head_dim),
        flops=2 * visited * tile.block_m * tile.block_n * 5 * p.head_dim,
    )  # fmt: skip
    dq = p.batch * p.heads_q * p.len_q * p.head_dim * p.itemsize
    yield _launch(
        "hopper_finish_kernel", "backward", p, target, rows, padded // _ROWS, (sums, dq), warps=8
    )


def _sms(target: Target) -> int:
    return int(target.gpu.need("sms")) if target.gpu is not None else 1


def _launch(
    kernel: str,
    part: Pass,
    problem: AttentionProblem,
    target: Target,
    tile: TileShape,
    programs: int,
    moved: tuple[int, int],
    *,
    warps: int,
    stages: int = 1,
    shared: int | None = None,
    flops: int = 0,
) -> Launch:
    causal = ("CAUSAL",) if problem.right is not None and shared is not None else ()
    return Launch(
        kernel, part, programs, -(-programs // _sms(target)), tile, warps, stages, shared,
        target.device.shared, moved[0], moved[1], flops, causal,
    )  # fmt: skip
