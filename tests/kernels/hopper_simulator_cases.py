"""Calls of the Hopper launchers that the simulator runs, and their comparison with float64."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import torch
from budgets import Truth
from hopper_simulator_kernels import Chance, Edit, SimulatedKernel
from oracles import assert_within_budget, make_grads, make_qkv, truth

from fa_toolkit.problem import AttentionProblem

Modules = dict[str, ModuleType]


@dataclass(frozen=True)
class Case:
    """One call. `switches` differ from the configuration that the launcher would choose."""

    nq: int
    nk: int
    causal: bool = False
    b: int = 1
    hq: int = 2
    hk: int = 1
    d: int = 64
    dtype: str = "bfloat16"
    layout: str = "contiguous"
    scale: float | None = None
    dlse: bool = False
    multiprocessors: int = 2
    calls: int = 1  # one after the other, which a counter left behind would spoil
    seed: int = 0
    switches: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """A readable test id."""
        mask = "-causal" if self.causal else ""
        heads = f"B{self.b}-H{self.hq}:{self.hk}-N{self.nq}x{self.nk}-D{self.d}{mask}"
        rest = "".join(f"-{key}{int(value)}" for key, value in self.switches)
        tail = f"-{self.layout}" if self.layout != "contiguous" else ""
        tail += "-dlse" if self.dlse else ""
        return f"{heads}-{self.dtype}{tail}{rest}-p{self.multiprocessors}-s{self.seed}"

    @property
    def chance(self) -> Chance:
        """Seeds differ in how late copies are, in how many programs run at once, and in skew."""
        late = (0.3, 0.6, 0.95)[self.seed % 3]
        return Chance(self.seed, late, 1 + self.seed % 3, self.seed % 4 != 3)

    @property
    def problem(self) -> AttentionProblem:
        return AttentionProblem(
            self.b, self.hq, self.hk, self.nq, self.nk, self.d, self.d, self.dtype, self.causal
        )


@dataclass(frozen=True)
class Mistake:
    """A change of the text; `case` is the one most likely to notice, and goes first."""

    edits: tuple[Edit, ...]
    case: Case | None = None


def planted(files: str, old: str, new: str, case: Case | None = None) -> Mistake:
    """One text replaced in the Hopper folder, in the one file of that beginning that has it."""
    return Mistake((Edit(files, old, new),), case)


def switches_of(**switches: Any) -> tuple[tuple[str, Any], ...]:
    """As a case holds them."""
    return tuple(switches.items())


@functools.cache
def _prepared(case: Case) -> tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...], Truth]:
    q, k, v = make_qkv(case.problem, layout=case.layout)
    do, dlse = make_grads(case.problem)
    exact = truth(
        q, k, v, causal=case.causal, scale=case.scale, do=do, dlse=dlse if case.dlse else None
    )
    return (q, k, v), (do, dlse), exact


def prepared(case: Case) -> tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...], Truth]:
    """(q, k, v), (dO, dlse) and the truth, which the order of events does not change."""
    return _prepared(replace(case, seed=0, switches=(), multiprocessors=2, calls=1))


def _poisoned(make: Any) -> Any:
    def empty(*args: Any, **kwargs: Any) -> torch.Tensor:
        fresh: torch.Tensor = make(*args, **kwargs)
        return fresh.fill_(float("nan")) if fresh.is_floating_point() else fresh

    return empty


@contextmanager
def pretended_gpu(modules: Modules, multiprocessors: int) -> Iterator[None]:
    """A device with that many multiprocessors, one stream, and memory that starts as NaN."""
    for module in modules.values():  # what they remember of another such device
        for value in vars(module).values():
            if hasattr(value, "cache_clear") and value.__module__ == module.__name__:
                value.cache_clear()
    properties = SimpleNamespace(
        multi_processor_count=multiprocessors, major=9, minor=0, L2_cache_size=50 * 2**20
    )
    stream = SimpleNamespace(cuda_stream=0, synchronize=lambda: None)
    cuda = {
        "get_device_properties": lambda *_: properties,
        "get_device_capability": lambda *_: (9, 0),
        "current_device": lambda: 0,
        "current_stream": lambda *_: stream,
        "is_current_stream_capturing": lambda: False,
    }
    with (
        mock.patch.multiple(torch.cuda, **cuda),
        mock.patch.object(torch, "empty", _poisoned(torch.empty)),
        mock.patch.object(torch, "empty_like", _poisoned(torch.empty_like)),
    ):
        yield


def _forward_choice(modules: Modules, case: Case) -> Any:
    choose = modules["configuration"].forward_config
    return choose(case.d, case.nq, case.nk, case.causal)


def _backward_choice(modules: Modules, case: Case) -> Any:
    choose = modules["backward_configuration"].backward_config
    return choose(case.d, case.nq, case.nk, case.causal)


def run_forward(modules: Modules, case: Case) -> None:
    """O and the log-sum-exp lie within their budgets."""
    (q, k, v), _, exact = prepared(case)
    SimulatedKernel.chance = case.chance
    config = replace(_forward_choice(modules, case), **dict(case.switches))
    for _ in range(case.calls):
        with pretended_gpu(modules, case.multiprocessors):
            o, lse = modules["forward_call"].hopper_forward(
                q, k, v, causal=case.causal, scale=scale_of(case), config=config
            )
        assert_within_budget("o", o, exact, label=case.name)
        assert_within_budget("lse", lse, exact, label=case.name)


def run_backward(modules: Modules, case: Case) -> None:
    """dQ, dK and dV lie within their budgets, given the rounded O and the exact log-sum-exp."""
    (q, k, v), (do, dlse), exact = prepared(case)
    o, lse = exact["o"].to(q.dtype), exact["lse"].float()
    SimulatedKernel.chance = case.chance
    config = replace(_backward_choice(modules, case), **dict(case.switches))
    for _ in range(case.calls):
        with pretended_gpu(modules, case.multiprocessors):
            found = modules["backward_call"].hopper_backward(
                q, k, v, o, lse, do, causal=case.causal, scale=scale_of(case),
                dlse=dlse if case.dlse else None, config=config,
            )  # fmt: skip
        for name, x in zip(("dq", "dk", "dv"), found, strict=True):
            assert_within_budget(name, x, exact, label=case.name)


def scale_of(case: Case) -> float:
    return case.d**-0.5 if case.scale is None else case.scale


def unknown_switches(modules: Modules, case: Case, run: Any) -> list[str]:
    """Switches of the case that the configuration does not have (any more)."""
    plain = replace(case, switches=())
    choose = _forward_choice if run is run_forward else _backward_choice
    return [name for name, _ in case.switches if not hasattr(choose(modules, plain), name)]
