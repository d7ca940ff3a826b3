"""Times of one call: on a GPU by events, cold L2, in short bursts after a pause; on a CPU by clock.

A busy GPU lowers its clock within tens of milliseconds, so a timing rests first and stays short;
`sustain` runs on until the clock has settled.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Protocol

import torch

from ..measured import Method
from .clocks import Sampler

Call = Callable[[], Any]
_FEWEST, _MOST = 5, 100  # calls in a burst
_LONG_MS = 200.0  # a call this long is neither warmed up again nor repeated often
_FLUSH_BYTES = 256 * 2**20
_SMALL = 8 * 2**30  # a GPU with less memory gets a smaller flush buffer


@dataclass(frozen=True)
class Prepared:
    """A call that ran once and is ready to be timed. `hold` keeps alive what a graph writes to."""

    call: Call
    timer: Literal["events", "graph", "cpu"]
    estimate_ms: float
    hold: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Settled:
    """What a sustained run came to."""

    ms: float
    clock_mhz: float | None
    watts: float | None


class Timer(Protocol):
    """What the suites need of a clock; tests bring one of their own."""

    def prepare(self, call: Call) -> Prepared:
        """Warm up, estimate, and capture a graph where the call is short."""
        ...

    def burst(self, prepared: Prepared) -> list[float]:
        """Milliseconds of single calls."""
        ...

    def sustain(self, prepared: Prepared, seconds: float) -> Settled:
        """The settled rate of back-to-back calls."""
        ...


def _marks(count: int) -> list[torch.cuda.Event]:
    return [torch.cuda.Event(enable_timing=True) for _ in range(count)]  # type: ignore[no-untyped-call]


class GpuTimer:
    """CUDA events around single calls. Everything must run on `stream`, so that graphs can."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        total = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
        size = _FLUSH_BYTES if total >= _SMALL else _FLUSH_BYTES // 4
        self._flush = torch.empty(size, dtype=torch.int8, device="cuda")

    def prepare(self, call: Call) -> Prepared:
        """As in `Timer`; a call that cannot be captured is timed as it is."""
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        if 1e3 * (time.perf_counter() - start) > _LONG_MS:  # compiled, or long
            start = time.perf_counter()
            call()
            torch.cuda.synchronize()
        if 1e3 * (time.perf_counter() - start) > _LONG_MS:
            return Prepared(call, "events", 1e3 * (time.perf_counter() - start))
        estimate = self._mean(call, 3)
        limit = self.method.graph_below_ms
        if limit is None or estimate >= limit:
            return Prepared(call, "events", estimate)
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self.stream):
                kept = call()
            graph.replay()
            torch.cuda.synchronize()
        except Exception:  # capture refused: its host time then counts, and `timer` says so
            torch.cuda.synchronize()
            return Prepared(call, "events", estimate)
        return Prepared(graph.replay, "graph", self._mean(graph.replay, 3), (graph, kept, call))

    def _mean(self, call: Call, times: int) -> float:
        begin, end = _marks(2)
        call()
        begin.record()
        for _ in range(times):
            call()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / times

    def burst(self, prepared: Prepared) -> list[float]:
        """As in `Timer`: a pause, one call untimed, then calls with the L2 overwritten before each."""
        wanted = self.method.burst_ms / max(prepared.estimate_ms, 1e-3)
        fewest = 2 if prepared.estimate_ms > _LONG_MS else _FEWEST
        times = int(min(_MOST, max(fewest, wanted)))
        pairs = [_marks(2) for _ in range(times)]
        torch.cuda.synchronize()
        time.sleep(self.method.pause_s)
        prepared.call()
        for begin, end in pairs:
            self._flush.zero_()
            begin.record()
            prepared.call()
            end.record()
        torch.cuda.synchronize()
        return [float(begin.elapsed_time(end)) for begin, end in pairs]

    def sustain(self, prepared: Prepared, seconds: float) -> Settled:
        """As in `Timer`: median of the second half, with the clock and power of that half."""
        together = max(1, round(1.0 / prepared.estimate_ms))
        steps = max(8, int(1e3 * seconds / (together * prepared.estimate_ms)))
        marks = _marks(steps + 1)
        torch.cuda.synchronize()
        time.sleep(self.method.pause_s)
        with Sampler() as sampler:
            marks[0].record()
            for mark in marks[1:]:
                for _ in range(together):
                    prepared.call()
                mark.record()
            torch.cuda.synchronize()
        each = [float(a.elapsed_time(b)) / together for a, b in pairwise(marks)]
        clock, watts = sampler.settled()
        return Settled(statistics.median(each[steps // 2 :]), clock, watts)


class CpuTimer:
    """A wall clock around single calls, for what is honest to time on a CPU."""

    def __init__(self, seconds: float = 0.3, fewest: int = 3) -> None:
        self.seconds, self.fewest = seconds, fewest

    def prepare(self, call: Call) -> Prepared:
        """As in `Timer`."""
        call()
        return Prepared(call, "cpu", self._once(call))

    def _once(self, call: Call) -> float:
        start = time.perf_counter()
        call()
        return 1e3 * (time.perf_counter() - start)

    def burst(self, prepared: Prepared) -> list[float]:
        """As in `Timer`."""
        wanted = 1e3 * self.seconds / max(prepared.estimate_ms, 1e-3)
        return [self._once(prepared.call) for _ in range(int(min(_MOST, max(self.fewest, wanted))))]

    def sustain(self, prepared: Prepared, seconds: float) -> Settled:
        """As in `Timer`; a CPU's clock is not sampled."""
        until, taken = time.perf_counter() + seconds, [self._once(prepared.call)]
        while time.perf_counter() < until:
            taken.append(self._once(prepared.call))
        return Settled(statistics.median(taken[len(taken) // 2 :]), None, None)
