"""Times the kernels with an ablation in them beside the real ones, which are neither touched nor slowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ..measured import Speed
from ..problem import AttentionProblem, TileShape
from .editing import load_edited
from .edits import ABLATIONS, SHIPPED, Ablation, Launch
from .providers import Attend, Provider, Ready
from .speed import TrainingPass, measure_case
from .timing import Timer

_DOORS = ("flash_forward", "flash_backward")


@dataclass(frozen=True)
class Kernels:
    """The two launchers of one set of kernels."""

    forward: Callable[..., tuple[Tensor, Tensor]]
    backward: Callable[..., Any]


@cache
def load(ablation: Ablation) -> Kernels:
    """The launchers with the ablation in them.

    Raises:
        ArgumentError: if it finds nothing to change.
    """
    modules = load_edited("fa_toolkit.kernels", _DOORS, ablation.edits, ablation.name)
    forward, backward = (modules[name] for name in _DOORS)
    if ablation.launch is not None:
        for module in (forward, backward):
            real_choice = vars(module)["choose_launch"]
            vars(module)["choose_launch"] = _choosing(real_choice, ablation.launch)
    return Kernels(forward.flash_forward, backward.flash_backward)


def _choosing(choose: Callable[..., Any], launch: Launch) -> Callable[..., Any]:
    def chosen(*arguments: Any, **keywords: Any) -> Any:
        plan = choose(*arguments, **keywords)
        tile = TileShape(launch.block_m or plan.tile.block_m, launch.block_n or plan.tile.block_n)
        return replace(
            plan,
            tile=tile,
            num_warps=launch.num_warps or plan.num_warps,
            num_stages=launch.num_stages or plan.num_stages,
        )

    return chosen


class _Attention(torch.autograd.Function):
    """The two launchers as one differentiable function."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, kernels: Kernels, causal: bool
    ) -> Tensor:
        o, lse = kernels.forward(q, k, v, causal=causal)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.kernels, ctx.causal = kernels, causal
        return o

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        found = ctx.kernels.backward(*ctx.saved_tensors, gradients[0], causal=ctx.causal)
        return found.dq, found.dk, found.dv, None, None


def ready(ablation: Ablation) -> Ready:
    """The ablated kernels as a provider named after the ablation."""

    def make(problem: AttentionProblem) -> Attend:
        kernels = load(ablation)
        return lambda q, k, v: _Attention.apply(q, k, v, kernels, problem.causal)  # type: ignore[no-untyped-call]

    return Ready(Provider(ablation.name, lambda: make), make)


def measure_ablations(
    problem: AttentionProblem,
    passes: Sequence[TrainingPass],
    timer: Timer,
    *,
    names: Iterable[str] = (),
    device: str = "cuda",
    rounds: int = 2,
) -> list[Speed]:
    """The shipped kernels and each ablation of them, in one interleaved run.

    Every ablation still computes attention, so each is checked like any provider.
    """
    chosen = [ABLATIONS[name] for name in names] or list(ABLATIONS.values())
    rows: list[Speed] = []
    for pass_ in passes:
        asked = [
            each
            for each in chosen
            if (problem.causal or not each.causal_only)
            and (pass_ == "forward" or not each.forward_only)
        ]
        if SHIPPED not in asked:
            asked.insert(0, SHIPPED)
        measured = measure_case(
            problem, (pass_,), [ready(each) for each in asked], timer, device=device, rounds=rounds
        )
        rows += [replace(row, provider="ours", variant=row.provider) for row in measured]
    return rows
