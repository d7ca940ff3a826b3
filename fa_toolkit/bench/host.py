"""What a call costs in Python: the time until it returns, with nothing queued before it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..measured import Host
from ..measured.adopt import rounded
from ..problem import AttentionProblem
from .checking import in_layout, make_inputs
from .failures import explained
from .providers import Attend, Ready

_CALLS, _WARM = 200, 20


def measure_host(
    problem: AttentionProblem,
    providers: Iterable[Ready],
    *,
    device: str = "cuda",
    calls: int = _CALLS,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Host]:
    """Median microseconds of a forward call without gradients, and of a training step.

    The device is waited for between calls, outside the time. What a provider adds is its number
    minus that of SDPA's flash backend, which is about as little as torch can do.
    """
    made = make_inputs(problem, device, 1)
    rows = []
    for ready in providers:
        if ready.provider.scores:
            continue
        with explained(lambda why: None):
            attend = ready.make(problem)
            *x, do = in_layout(made, ready.provider.layout)
            plain, again = _forward(attend, x, calls, device, clock)
            rows.append(Host(ready.provider.id, problem, plain, again))
            if ready.provider.backward:  # what fails there leaves the row as it is
                trained = _median(_training_step(attend, x, do), calls, device, clock)
                rows[-1] = replace(rows[-1], trained=trained)
    return rows


@torch.no_grad()
def _forward(
    attend: Attend, x: list[Tensor], calls: int, device: str, clock: Callable[[], float]
) -> tuple[float, float | None]:
    """Of a call, and of its replay from a CUDA graph."""

    def call() -> Tensor:
        return attend(*x)

    plain = _median(call, calls, device, clock)
    replay = _captured(call) if device == "cuda" else None
    return plain, None if replay is None else _median(replay, calls, device, clock)


def _training_step(attend: Attend, x: list[Tensor], do: Tensor) -> Callable[[], Any]:
    """A forward call and its backward, gradients of q, k and v handed over and not added up."""
    leaves = [tensor.detach().requires_grad_() for tensor in x]
    return lambda: torch.autograd.grad(attend(*leaves), leaves, do)


def _median(call: Callable[[], Any], calls: int, device: str, clock: Callable[[], float]) -> float:
    """Microseconds, the first calls left out."""
    taken = [_once(call, device, clock) for _ in range(_WARM + calls)]
    return rounded(1e6 * statistics.median(taken[_WARM:]))


def _captured(call: Callable[[], Any]) -> Callable[[], None] | None:
    """The call as the replay of a CUDA graph, None if it cannot be captured."""
    found: list[Callable[[], None]] = []
    with explained(lambda why: None):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
            kept = call()

        def replay(kept: Any = kept) -> None:  # what the graph writes to stays alive
            graph.replay()

        found.append(replay)
    return found[0] if found else None


def _once(call: Callable[[], Any], device: str, clock: Callable[[], float]) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    start = clock()
    call()
    return clock() - start


def over_sdpa(rows: Iterable[Host]) -> dict[str, float]:
    """Microseconds above SDPA's flash backend on the same problem; empty where that is missing."""
    every = list(rows)
    base = {row.problem: row.microseconds for row in every if row.provider == "sdpa_flash"}
    return {
        row.provider: row.microseconds - base[row.problem]
        for row in every
        if row.problem in base and row.provider != "sdpa_flash"
    }
