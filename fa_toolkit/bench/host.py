"""What a call costs in Python: the time until it returns, with nothing queued before it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from ..measured import Host
from ..measured.adopt import rounded
from ..problem import AttentionProblem
from .checking import in_layout, make_inputs
from .failures import explained
from .providers import Ready

_CALLS, _WARM, _ROUNDS = 200, 20, 10


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
    minus that of SDPA's flash backend, which is about as little as torch can do. All take turns, a
    few calls each: a busy host is slow for seconds, and then it is slow for all of them.
    """
    made = make_inputs(problem, device, 1)
    timed: dict[tuple[str, str], Callable[[], Any]] = {}
    for ready in providers:
        if not ready.provider.scores:
            *x, do = in_layout(made, ready.provider.layout)
            for name, call in _works(ready, problem, x, do, device):
                with explained(lambda why: None), torch.set_grad_enabled(name == _TRAINED):
                    for _ in range(_WARM):
                        _once(call, device, clock)
                    timed[ready.provider.id, name] = call
    taken: dict[tuple[str, str], list[float]] = {key: [] for key in timed}
    for _ in range(_ROUNDS):
        for key, call in timed.items():
            with torch.set_grad_enabled(key[1] == _TRAINED):
                taken[key] += [_once(call, device, clock) for _ in range(-(-calls // _ROUNDS))]
    medians = {key: rounded(1e6 * statistics.median(found)) for key, found in taken.items()}
    return [
        Host(id, problem, micro, medians.get((id, _REPLAYED)), medians.get((id, _TRAINED)))
        for (id, name), micro in medians.items()
        if name == _PLAIN
    ]


_PLAIN, _REPLAYED, _TRAINED = "a call", "a replay", "a training step"


def _works(
    ready: Ready, problem: AttentionProblem, x: list[Tensor], do: Tensor, device: str
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is timed of a provider; gradients of q, k and v are handed over and not added up."""
    with explained(lambda why: None):
        attend = ready.make(problem)

        def call() -> Tensor:
            return attend(*x)

        yield _PLAIN, call
        with torch.no_grad():
            replay = _captured(call) if device == "cuda" else None
        if replay is not None:
            yield _REPLAYED, replay
        if ready.provider.backward:
            leaves = [tensor.detach().requires_grad_() for tensor in x]
            yield _TRAINED, lambda: torch.autograd.grad(attend(*leaves), leaves, do)


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
