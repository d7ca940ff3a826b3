"""What a call costs in Python: the time until it returns, with nothing queued before it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
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
    """Median microseconds of a forward call without gradients, for each provider.

    The device is waited for between calls, outside the time. What a provider adds is its number
    minus that of SDPA's flash backend, which is about as little as torch can do.
    """
    made = make_inputs(problem, device, 1)
    rows = []
    for ready in providers:
        if ready.provider.scores:
            continue
        with explained(lambda why: None), torch.no_grad():
            attend = ready.make(problem)
            q, k, v, _ = in_layout(made, ready.provider.layout)

            def call(attend: Attend = attend, x: tuple[Tensor, ...] = (q, k, v)) -> Tensor:
                return attend(*x)

            plain = _median(call, calls, device, clock)
            replay = _captured(call) if device == "cuda" else None
            again = None if replay is None else _median(replay, calls, device, clock)
            rows.append(Host(ready.provider.id, problem, plain, again))
    return rows


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
