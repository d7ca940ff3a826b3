"""The kernels a call would start: configurations from the kernels floor, bytes from the I/O model."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import NamedTuple

from torch import Tensor

from ..io_model import (
    decode_traffic,
    flash_backward_traffic,
    flash_forward_traffic,
    issued_flops,
    visited_tiles,
)
from ..kernels.configuration import ALIGNMENT, INTERPRETER, LaunchPlan, plan_launch, readable
from ..kernels.decode_call import bounds
from ..kernels.decode_configuration import (
    INTERPRETER_SMS,
    DecodePlan,
    packed_rows,
    split_plan,
)
from ..kernels.hopper.availability import Pass
from ..problem import AttentionProblem, TileShape
from .answer import Launch
from .hopper_launches import hopper_backward_launches, hopper_forward_launches
from .targets import Target


class Readings(NamedTuple):
    """Which launches may take what they stream by the copy engine, as far as the tensors go.

    Of dO nothing is known yet: it is taken to lie as O does.
    """

    forward: bool
    dkdv: bool
    dq: bool

    @classmethod
    def of(cls, problem: AttentionProblem, q: Tensor, k: Tensor, v: Tensor) -> Readings:
        """As `kernels.flash_forward` and `kernels.flash_backward` ask."""
        width, rows = problem.head_dim_v * problem.itemsize, 4 * problem.len_q  # of dO, lse
        saved = width % ALIGNMENT == 0 == rows % ALIGNMENT
        return cls(readable(q, k, v), readable(q) and saved, readable(k, v))


def planned(
    problem: AttentionProblem,
    target: Target,
    gradients: tuple[str, ...],
    flags: tuple[str, ...],
    readings: Readings,
    hopper: Collection[Pass] = (),
) -> tuple[Launch, ...]:
    """The launches of a call in order, those of the backward pass included.

    Args:
        readings: of the tensors as they lie.
        hopper: the passes that take the kernels for Hopper.

    Raises:
        DtypeError: if the device cannot compute this type.
    """
    launches: list[Launch] = []
    if "forward" in hopper:
        launches += hopper_forward_launches(problem, target)
    else:
        launches += _forward(problem, target, flags, readings)
    if "backward" in hopper:
        launches += hopper_backward_launches(problem, target)
    else:
        launches += _backward(problem, target, gradients, flags, readings)
    return tuple(launches)


def _forward(
    problem: AttentionProblem, target: Target, flags: tuple[str, ...], readings: Readings
) -> Iterator[Launch]:
    # also refuses a type the device cannot compute
    plan = plan_launch(problem, target.device, aligned=readings.forward)
    sms = INTERPRETER_SMS if target.gpu is None else int(target.gpu.need("sms"))
    split = split_plan(problem, target.device, sms, dropout="HAS_DROPOUT" in flags)
    if split is not None:
        yield from _split(problem, target, split, flags)
    elif programs := _row_programs(problem, plan.tile):
        yield _launch(
            "flash_forward_kernel",
            problem,
            target,
            plan,
            programs,
            flash_forward_traffic(problem, plan.tile).phases["forward"],
            issued_flops(problem, plan.tile),
            _with_edge(flags, plan, problem),
        )


def _split(
    problem: AttentionProblem, target: Target, split: DecodePlan, flags: tuple[str, ...]
) -> Iterator[Launch]:
    """The path of decoding: keys in parts, packed rows, and a merge where there are parts."""
    p, plan, parts = problem, split.launch, split.splits
    traffic = decode_traffic(p, splits=parts, tile=plan.tile)
    programs = p.batch * p.heads_kv * -(-packed_rows(p) // plan.tile.block_m) * parts
    keys = traffic.by_tensor["K"][0] // (p.head_dim * p.itemsize)  # loaded for BLOCK_M rows each
    flops = 2 * keys * plan.tile.block_m * (plan.block_d + plan.block_dv)
    bounds_set = {name for name, on in bounds(p)[2].items() if on}
    own = tuple(
        "HAS_CAP" if flag == "HAS_SOFTCAP" else flag
        for flag in flags
        if flag not in ("HAS_LEFT", "HAS_RIGHT") or flag in bounds_set
    )
    first = _launch(
        "flash_decode_kernel", p, target, plan, programs, traffic.phases["split"], flops, own
    )
    yield replace(first, splits=parts)
    if parts > 1:
        rows = p.batch * p.heads_q * p.len_q
        merge = LaunchPlan(
            TileShape(1, 1), 4 if p.head_dim_v <= 128 else 8, 1, plan.block_d, plan.block_dv
        )
        yield _launch("merge_parts_kernel", p, target, merge, rows, traffic.phases["merge"])


def _backward(
    problem: AttentionProblem,
    target: Target,
    gradients: tuple[str, ...],
    flags: tuple[str, ...],
    readings: Readings,
) -> Iterator[Launch]:
    """As `kernels.flash_backward` does: Delta for any gradient, then what is asked for."""
    if not gradients:
        return
    p = problem
    flags = tuple(flag for flag in flags if flag != "HAS_SINK")  # all of the sink is in lse
    dq_plan = plan_launch(p, target.device, kernel="dq", aligned=readings.dq)
    rows = _row_programs(p, dq_plan.tile)
    if rows:
        yield _launch("delta_kernel", p, target, dq_plan, rows, _moved(p, dq_plan.tile, "delta"))
    if {"k", "v"} & set(gradients) and p.batch * p.heads_kv * p.len_k:
        plan = plan_launch(p, target.device, kernel="dkdv", aligned=readings.dkdv)
        programs = p.batch * p.heads_kv * -(-p.len_k // plan.tile.block_n)
        both = _streamed(p, target, plan, programs, (2, 2), flags)
        if not plan.apart:
            yield both
        else:  # each builds the scores anew; that of dV does without dP
            written = flash_backward_traffic(p, plan.tile).by_tensor
            for products, name in (((2, 1), "dK"), ((1, 1), "dV")):
                one = _streamed(p, target, plan, programs, products, flags)
                yield replace(one, writes=written[name][1])
    if "q" in gradients and rows:
        yield _streamed(p, target, dq_plan, rows, (2, 1), _with_edge(flags, dq_plan, p))


def _with_edge(
    flags: tuple[str, ...], plan: LaunchPlan, problem: AttentionProblem
) -> tuple[str, ...]:
    return (*flags, "HAS_EDGE") if plan.has_edge(problem) else flags


def _streamed(
    problem: AttentionProblem,
    target: Target,
    plan: LaunchPlan,
    programs: int,
    products: tuple[int, int],
    flags: tuple[str, ...],
) -> Launch:
    """One of the big launches; `products` as wide as D, and as wide as Dv."""
    m, n = plan.tile.block_m, plan.tile.block_n
    pairs = problem.batch * problem.heads_q * visited_tiles(problem, plan.tile) * m * n
    moved = _moved(problem, plan.tile, plan.kernel)
    width = products[0] * plan.block_d + products[1] * plan.block_dv
    name = f"flash_backward_{plan.kernel}_kernel"
    return _launch(name, problem, target, plan, programs, moved, 2 * pairs * width, flags)


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
    tiles_in_shared = kernel not in ("delta_kernel", "merge_parts_kernel")
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
