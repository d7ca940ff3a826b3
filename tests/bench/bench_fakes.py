"""A clock for the benchmark's tests: it counts what it is asked and gives the times it was told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from fa_toolkit.bench.providers import Provider, Ready
from fa_toolkit.bench.timing import Prepared, Settled
from fa_toolkit.problem import AttentionProblem


class FakeTimer:
    """Every call takes `ms`; `asked` lists the calls of bursts in order."""

    def __init__(self, ms: float = 2.0) -> None:
        self.ms, self.asked, self.prepared = ms, [], 0  # type: ignore[var-annotated]

    def prepare(self, call: Callable[[], Any]) -> Prepared:
        call()
        self.prepared += 1
        return Prepared(call, "events", self.ms)

    def burst(self, prepared: Prepared) -> list[float]:
        self.asked.append(prepared.call)
        return [self.ms, self.ms, 10 * self.ms]  # an outlier, which a median ignores

    def sustain(self, prepared: Prepared, seconds: float) -> Settled:
        return Settled(1.25 * self.ms, 1500.0, 690.0)


def ready(id: str, attend: Callable[..., Tensor], **more: Any) -> Ready:
    """A provider made of one function of (q, k, v, problem)."""

    def make(problem: AttentionProblem) -> Callable[..., Tensor]:
        return lambda q, k, v: attend(q, k, v, problem)

    return Ready(Provider(id, lambda: make, **more), make)
