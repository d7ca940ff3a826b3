"""The kernels a call would start: configurations from the kernels floor, bytes from the I/O model."""

from __future__ import annotations

from collections.abc import Iterator

from ..io_model import flash_backward_traffic, flash_forward_traffic, issued_flops, visited_tiles
from ..kernels.configuration import INTERPRETER, Kernel, LaunchPlan, plan_launch
from ..problem import AttentionProblem, TileShape
from .answer import Launch
from .targets import Target


def planned(
    problem: AttentionProblem, target: Target, gradients: tuple[str, ...], flags: tuple[str, ...]
) -> tuple[Launch, ...]:
    """The launches of a call in order, those of the backward pass included.

    Raises:
        DtypeError: if the device cannot compute this type.
    """
    return (*_forward(problem, target, flags), *_backward(problem, target, gradients, flags))


def _forward(problem: AttentionProblem, target: Target, flags: tuple[str, ...]) -> Iterator[Launch]:
    plan = plan_launch(problem, target.device)
    programs = _row_programs(problem, plan.tile)
    if programs:
        moved = flash_forward_traffic(problem, plan.tile)
        flops = issued_flops(problem, plan.tile)
        yield _launch(
            "flash_forward_kernel",
            problem,
            target,
            plan,
            programs,
            (moved.reads, moved.writes),
            flops,
            flags,
        )


def _backward(
    problem: AttentionProblem, target: Target, gradients: tuple[str, ...], flags: tuple[str, ...]
) -> Iterator[Launch]:
    """As `kernels.flash_backward` does: Delta for any gradient, then what is asked for."""
    if not gradients:
        return
    p = problem
    flags = tuple(flag for flag in flags if flag != "HAS_SINK")  # all of the sink is in lse
    dq_plan = plan_launch(p, target.device, kernel="dq")
    rows = _row_programs(p, dq_plan.tile)
    if rows:
        yield _launch("delta_kernel", p, target, dq_plan, rows, _moved(p, dq_plan.tile, "delta"))
    if {"k", "v"} & set(gradients) and p.batch * p.heads_kv * p.len_k:
        yield _streamed(p, target, "dkdv", 2 * p.head_dim + 2 * p.head_dim_v, flags)
    if "q" in gradients and rows:
        yield _streamed(p, target, "dq", 2 * p.head_dim + p.head_dim_v, flags)


def _streamed(
    problem: AttentionProblem,
    target: Target,
    kernel: Kernel,
    products: int,
    flags: tuple[str, ...],
) -> Launch:
    """One of the two big launches; `products` is the summed width of its matrix products."""
    plan = plan_launch(problem, target.device, kernel=kernel)
    m, n = plan.tile.block_m, plan.tile.block_n
    programs = _row_programs(problem, plan.tile)
    if kernel == "dkdv":
        programs = problem.batch * problem.heads_kv * -(-problem.len_k // n)
    pairs = problem.batch * problem.heads_q * visited_tiles(problem, plan.tile) * m * n
    moved = _moved(problem, plan.tile, kernel)
    name = f"flash_backward_{kernel}_kernel"
    return _launch(name, problem, target, plan, programs, moved, 2 * pairs * products, flags)


def _row_programs(problem: AttentionProblem, tile: TileShape) -> int:
    return problem.batch * problem.heads_q * -(-problem.len_q // tile.block_m)


def _moved(problem: AttentionProblem, tile: TileShape, phase: str) -> tuple[int, int]:
    return flash_backward_traffic(problem, tile).phases.get(phase, (0, 0))


def _launch(
    kernel: str,
    problem: AttentionProblem,
    target: Target,
    plan: LaunchPlan,
    programs: int,
    moved: tuple[int, int],
    flops: int = 0,
    flags: tuple[str, ...] = (),
) -> Launch:
    sms = None if target.gpu is None else target.gpu.sms
    tiles_in_shared = kernel != "delta_kernel"
    return Launch(
        kernel=kernel,
        part="forward" if plan.kernel == "forward" else "backward",
        programs=programs,
        waves=None if not sms else -(-programs // sms),
        tile=plan.tile,
        num_warps=plan.num_warps,
        num_stages=plan.num_stages if tiles_in_shared else 1,
        shared=plan.shared(problem.itemsize, target.device) if tiles_in_shared else None,
        shared_limit=None if target.device == INTERPRETER else target.device.shared,
        reads=moved[0],
        writes=moved[1],
        flops=flops,
        flags=flags,
    )
