"""Peak memory of one call above its inputs, against N: by CUDA's allocator, or the CPU's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import torch

from ..measured import Memory
from ..measured.adopt import rounded
from ..problem import AttentionProblem
from .checking import in_layout, make_inputs
from .failures import explained, free_memory
from .providers import Ready

_MIB = 2**20
Peak = Callable[[Callable[[], Any]], int]
MemoryPass = Literal["forward", "training"]


def measure_memory(
    problem: AttentionProblem,
    providers: Iterable[Ready],
    *,
    device: str = "cuda",
    passes: tuple[MemoryPass, ...] = ("forward", "training"),
    peak: Peak | None = None,
) -> Iterator[Memory]:
    """A row for each provider and pass; one that does not fit says so.

    Args:
        peak: most bytes allocated at once while a call runs; the allocator's own by default.
    """
    for ready in providers:
        for pass_ in passes:
            if pass_ == "training" and not ready.provider.backward:
                continue
            failed: list[str] = []
            mib = None
            free_memory()
            with explained(failed.append):
                used = _peak_of(problem, ready, pass_, device, peak or _peak_here(device))
                mib = rounded(used / _MIB)
            yield Memory(ready.provider.id, pass_, problem, mib, failed[0] if failed else "")
            free_memory()


def _peak_of(
    problem: AttentionProblem, ready: Ready, pass_: MemoryPass, device: str, peak: Peak
) -> int:
    attend = ready.make(problem)
    made = in_layout(make_inputs(problem, device, problem.len_k), ready.provider.layout)
    q, k, v, do = made
    if not ready.provider.scores:  # compile and load first
        with torch.no_grad():
            attend(q, k, v)
    for x in (q, k, v):
        x.requires_grad_(pass_ == "training")

    def call() -> None:
        with torch.set_grad_enabled(pass_ == "training"):
            o = attend(q, k, v)
        if pass_ == "training":
            torch.autograd.grad(o, (q, k, v), do)

    return peak(call)


def _peak_here(device: str) -> Peak:
    return cuda_peak if device == "cuda" else cpu_peak


def cuda_peak(call: Callable[[], Any]) -> int:
    """Bytes above what was allocated before, at their most."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    call()
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated()) - before


def cpu_peak(call: Callable[[], Any]) -> int:
    """The same from the events of torch's CPU allocator, buffers inside operators included."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # its start and stop are no news
    from torch.autograd.profiler import profile  # torch.profiler would load the compiler too

    with profile(use_cpu=True, profile_memory=True) as profiled:
        call()
    results: Any = profiled.kineto_results
    events = [event for event in results.events() if event.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most
