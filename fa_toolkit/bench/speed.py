"""Forward and backward of one problem by all providers: checked, then timed in interleaved rounds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from ..measured import Speed
from ..measured.adopt import rounded, speed_of
from ..problem import AttentionProblem
from .checking import (
    Inputs,
    errors,
    in_layout,
    make_inputs,
    poison,
    reference,
    refuse_wrong,
)
from .failures import explained, free_memory
from .providers import Ready
from .timing import Prepared, Timer

TrainingPass = Literal["forward", "backward"]


@dataclass
class _Live:
    """A provider that passed the check and keeps its call for the next round."""

    row: Speed
    prepared: Prepared
    samples: list[list[float]]


def measure_case(
    problem: AttentionProblem,
    passes: Iterable[TrainingPass],
    providers: Sequence[Ready],
    timer: Timer,
    *,
    device: str = "cuda",
    seed: int = 1,
    rounds: int = 2,
    sustain_s: float = 0.0,
) -> list[Speed]:
    """One row for each provider and pass, and one more for each that was sustained.

    Providers with N x N memory are timed and freed before the next; the others stay ready, and
    every second round goes through them backwards, so that none always runs on a hot chip.
    """
    made = make_inputs(problem, device, seed + problem.len_k)
    exact = reference(problem, made, gradients="backward" in set(passes))
    rows: list[Speed] = []
    live: list[_Live] = []
    for ready in providers:
        for pass_ in passes:
            row = Speed(ready.provider.id, pass_, problem)
            if pass_ == "backward" and not ready.provider.backward:
                continue
            outcome = _first_round(row, ready, made, exact, timer)
            if isinstance(outcome, Speed):
                rows.append(outcome)
                continue
            if ready.provider.scores:
                rows.append(_settled(outcome))
                del outcome
                free_memory()
            else:
                live.append(outcome)
    rows += _later_rounds(live, timer, rounds, sustain_s)
    order = [ready.provider.id for ready in providers]
    return sorted(
        rows, key=lambda row: (row.regime, order.index(row.provider), row.pass_ == "backward")
    )


def _first_round(
    row: Speed, ready: Ready, made: Inputs, exact: dict[str, Tensor], timer: Timer
) -> _Live | Speed:
    """Check and time once; the row itself, with its reason, where that failed."""
    failed: list[str] = []
    short = _does_not_fit(row.problem, ready.provider.scores, row.pass_, made.q)
    if short:
        return replace(row, failed=short)
    live: list[_Live] = []
    with explained(failed.append):
        call, found = checked_call(row, ready, made, exact)
        prepared = timer.prepare(call)
        samples = timer.burst(prepared)
        kept = {name: rounded(error) for name, error in found.items()}
        live.append(_Live(replace(row, errors=kept, timer=prepared.timer), prepared, [samples]))
    return live[0] if live else replace(row, failed=failed[0])


def checked_call(
    row: Speed, ready: Ready, made: Inputs, exact: dict[str, Tensor]
) -> tuple[Callable[[], Any], dict[str, float]]:
    """The call to time, and the errors of what it returned.

    Raises:
        WrongOutput: if it does not compute attention.
    """
    layout = ready.provider.layout
    attend = ready.make(row.problem)
    q, k, v, do = (x.detach() for x in in_layout(made, layout))
    poison(q)
    if row.pass_ == "forward":

        def forward() -> Tensor:
            with torch.no_grad():
                return attend(q, k, v)

        found = errors(row.problem, {"o": forward()}, exact, layout)
        refuse_wrong(row.problem, found)
        return forward, found

    for x in (q, k, v):
        x.requires_grad_()
    o = attend(q, k, v)
    poison(do)

    def backward() -> tuple[Tensor, ...]:
        return torch.autograd.grad(o, (q, k, v), do, retain_graph=True)

    gradients = dict(zip(("dq", "dk", "dv"), backward(), strict=True))
    found = errors(row.problem, gradients, exact, layout)
    refuse_wrong(row.problem, found)
    return backward, found


def _later_rounds(live: list[_Live], timer: Timer, rounds: int, sustain_s: float) -> list[Speed]:
    rows: list[Speed] = []
    for at in range(1, rounds):
        for each in reversed(live) if at % 2 else live:
            with explained(lambda why: None):
                each.samples.append(timer.burst(each.prepared))
    for each in live:
        rows.append(_settled(each))
        if not sustain_s:
            continue
        with explained(lambda why: None):
            found = timer.sustain(each.prepared, sustain_s)
            row = each.row
            rows.append(
                speed_of(
                    row.provider, row.pass_, row.problem, found.ms, regime="sustained",
                    clock_mhz=found.clock_mhz, watts=found.watts, timer=row.timer,
                )
            )  # fmt: skip
    return rows


def _settled(live: _Live) -> Speed:
    """The median over all rounds, and of each."""
    every = [sample for samples in live.samples for sample in samples]
    row = live.row
    return speed_of(
        row.provider, row.pass_, row.problem, statistics.median(every), errors=row.errors,
        rounds=tuple(rounded(statistics.median(each)) for each in live.samples),
        timer=row.timer, variant=row.variant,
    )  # fmt: skip


def _does_not_fit(problem: AttentionProblem, scores: int, pass_: str, q: Tensor) -> str:
    """Why a provider that holds N x N tensors is not even tried; "" if it may fit."""
    if not scores or not q.is_cuda:
        return ""
    p = problem
    held = scores + (1 if pass_ == "backward" else 0)
    needed = held * p.batch * p.heads_q * p.len_q * p.len_k * p.itemsize
    free, _ = torch.cuda.mem_get_info()
    free += torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    if needed < free:
        return ""
    return f"does not fit: {needed / 2**30:.1f} GiB > {free / 2**30:.1f} GiB"
