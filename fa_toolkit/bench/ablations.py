"""Loads the kernels with an ablation in them, beside the real ones, and times them side by side.

A changed file and everything that imports it is loaded anew as a package of its own; all other
files are the real modules. The shipped kernels are neither touched nor slowed.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from ..measured import Speed
from ..problem import AttentionProblem, TileShape
from .edits import ABLATIONS, SHIPPED, Ablation, Launch, edited
from .providers import Attend, Provider, Ready
from .speed import TrainingPass, measure_case
from .timing import Timer

_DOORS = ("flash_forward", "flash_backward")
_IMPORT = re.compile(r"(?m)^from \.(\w+) import|^from \. import (\w+)")


@dataclass(frozen=True)
class Kernels:
    """The two launchers of one set of kernels."""

    forward: Callable[..., tuple[Tensor, Tensor]]
    backward: Callable[..., Any]


@cache
def _sources() -> dict[str, str]:
    """The files that make up the two launchers, read once."""
    from .. import kernels

    folder = Path(str(kernels.__file__)).parent
    found: dict[str, str] = {}
    waiting = list(_DOORS)
    while waiting:
        name = waiting.pop()
        if name in found or not (folder / f"{name}.py").is_file():
            continue
        found[name] = (folder / f"{name}.py").read_text(encoding="utf-8")
        waiting += _imported(found[name])
    return found


def _imported(source: str) -> list[str]:
    return [first or second for first, second in _IMPORT.findall(source)]


def _importers(changed: Iterable[str], sources: dict[str, str]) -> set[str]:
    """The changed files, all that import them however far, and the two launchers."""
    affected = {*changed, *_DOORS}
    while True:
        more = {
            name
            for name, source in sources.items()
            if name not in affected and affected & set(_imported(source))
        }
        if not more:
            return affected
        affected |= more


_folders: list[tempfile.TemporaryDirectory[str]] = []  # Triton reads sources while it compiles


@cache
def load(ablation: Ablation) -> Kernels:
    """The launchers with the ablation in them.

    Raises:
        ArgumentError: if it finds nothing to change.
    """
    sources = _sources()
    changed = edited(ablation, sources)
    files = _importers(changed, sources)
    folder = tempfile.TemporaryDirectory(prefix="fa-ablation-")
    _folders.append(folder)
    home = f"fa_toolkit._ablated_{re.sub(r'[^a-z0-9]+', '_', ablation.name)}"
    package = ModuleType(home)
    package.__path__ = [folder.name]
    sys.modules[home] = package
    for name, source in sources.items():
        if name in files:
            text = changed.get(name, source)
            (Path(folder.name) / f"{name}.py").write_text(text, encoding="utf-8")
        else:
            real = importlib.import_module(f"fa_toolkit.kernels.{name}")
            sys.modules[f"{home}.{name}"] = real
            setattr(package, name, real)
    forward, backward = (importlib.import_module(f"{home}.{name}") for name in _DOORS)
    if ablation.launch is not None:
        for module in (forward, backward):
            real_choice = module.choose_launch
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
