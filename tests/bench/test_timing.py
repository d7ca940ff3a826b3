"""The GPU's timer against a GPU of paper: pauses, a cold L2, short calls from a graph."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fa_toolkit.bench import clocks, timing
from fa_toolkit.measured import Method

METHOD = Method(pause_s=0.15, burst_ms=25.0, rounds=2, cold_l2=True, graph_below_ms=1.0)


class PaperGpu:
    """A device whose clock moves when a call or the flush of the L2 runs on it."""

    def __init__(self, call_ms: float, capture: bool = True) -> None:
        self.now, self.call_ms, self.log, self.capture = 0.0, call_ms, [], capture  # type: ignore[var-annotated]

    def call(self) -> str:
        self.log.append("call")
        self.now += self.call_ms
        return "o"

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing
                self.at = -1.0

            def record(self) -> None:
                self.at = gpu.now

            def synchronize(self) -> None: ...

            def elapsed_time(self, other: Event) -> float:
                return other.at - self.at

        class Graph:
            def replay(self) -> None:
                gpu.log.append("replay")
                gpu.now += gpu.call_ms / 2  # no host time between its kernels

        class Capture:
            def __init__(self, graph: Graph, stream: object) -> None: ...

            def __enter__(self) -> None:
                if not gpu.capture:
                    raise RuntimeError("operation not permitted when stream is capturing")

            def __exit__(self, *_: object) -> None: ...

        def zero() -> None:
            gpu.log.append("flush")
            gpu.now += 100.0

        fakes: dict[str, Any] = {
            "Event": Event, "CUDAGraph": Graph, "graph": Capture, "Stream": object,
            "synchronize": lambda: None, "current_device": lambda: 0,
            "get_device_properties": lambda index: SimpleNamespace(total_memory=2**37),
        }  # fmt: skip
        for name, fake in fakes.items():
            monkeypatch.setattr(torch.cuda, name, fake)
        monkeypatch.setattr(torch, "empty", lambda *a, **k: SimpleNamespace(zero_=zero))
        monkeypatch.setattr(timing.time, "sleep", lambda s: gpu.log.append(f"sleep {s}"))


def test_a_burst_rests_then_times_single_calls_with_a_cold_l2(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu = PaperGpu(2.5)
    gpu.install(monkeypatch)
    timer = timing.GpuTimer(METHOD)
    prepared = timer.prepare(gpu.call)
    assert (prepared.timer, prepared.estimate_ms) == ("events", 2.5)
    gpu.log.clear()
    assert timer.burst(prepared) == [2.5] * 10  # 25 ms; the flush is never inside
    assert gpu.log == ["sleep 0.15", "call", *["flush", "call"] * 10]


@pytest.mark.parametrize(("ms", "calls"), [(0.02, 100), (20.0, 5), (300.0, 2)])
def test_a_burst_is_neither_too_short_nor_too_long(
    ms: float, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = PaperGpu(ms)
    gpu.install(monkeypatch)
    timer = timing.GpuTimer(METHOD)
    assert len(timer.burst(timing.Prepared(gpu.call, "events", ms))) == calls


def test_a_short_call_is_replayed_from_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = PaperGpu(0.4)
    gpu.install(monkeypatch)
    timer = timing.GpuTimer(METHOD)
    prepared = timer.prepare(gpu.call)
    assert prepared.timer == "graph" and prepared.hold, "what the graph writes to stays alive"
    gpu.log.clear()
    assert {round(each, 6) for each in timer.burst(prepared)} == {0.2}
    assert "call" not in gpu.log


def test_a_call_that_cannot_be_captured_is_timed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = PaperGpu(0.4, capture=False)
    gpu.install(monkeypatch)
    prepared = timing.GpuTimer(METHOD).prepare(gpu.call)
    assert prepared.timer == "events" and prepared.estimate_ms == pytest.approx(0.4)


def test_sustained_runs_back_to_back(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = PaperGpu(0.5)
    gpu.install(monkeypatch)
    monkeypatch.setattr(clocks, "nvml", lambda: None)
    timer = timing.GpuTimer(METHOD)
    gpu.log.clear()
    settled = timer.sustain(timing.Prepared(gpu.call, "events", 0.5), 0.1)
    assert settled == timing.Settled(0.5, None, None)
    assert gpu.log.count("call") == 200 and "flush" not in gpu.log


class Nvml:
    """NVML as far as it is read; setting anything would be an AttributeError."""

    NVML_CLOCK_SM = 1

    def __init__(self) -> None:
        self.clock = 1980.0

    def nvmlInit(self) -> None: ...  # noqa: N802

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        if not uuid.startswith("GPU-"):
            raise ValueError(uuid)
        return uuid

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> float:  # noqa: N802
        self.clock = max(1500.0, self.clock - 40)
        return self.clock

    def nvmlDeviceGetPowerUsage(self, handle: str) -> float:  # noqa: N802
        return 690_000.0

    def nvmlSystemGetDriverVersion(self) -> bytes:  # noqa: N802
        return b"580.159"

    def nvmlDeviceGetMaxClockInfo(self, handle: str, kind: int) -> int:  # noqa: N802
        return 1980

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: str) -> int:  # noqa: N802
        return 700_000


def test_clock_and_power_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setattr(clocks, "nvml", Nvml)
    monkeypatch.setattr(clocks, "_EVERY", 0.001)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda i: SimpleNamespace(uuid="x"))
    with clocks.Sampler() as sampler:
        until = time.monotonic() + 5
        while len(sampler.rows) < 40 and time.monotonic() < until:
            time.sleep(0.005)
    clock, watts = sampler.settled()
    assert clock == 1500.0 and watts == 690.0
    assert clocks.card() == clocks.Card("580.159", 1980.0, 700.0)


def test_without_nvml_there_is_nothing_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "nvml", lambda: None)
    with clocks.Sampler() as sampler:
        pass
    assert sampler.settled() == (None, None)
    said = SimpleNamespace(stdout="580.159, 1980, [N/A]\n")
    monkeypatch.setattr(clocks.subprocess, "run", lambda *a, **k: said)
    assert clocks.card() == clocks.Card("580.159", 1980.0, None)

    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError("nvidia-smi")

    monkeypatch.setattr(clocks.subprocess, "run", missing)
    assert clocks.card() == clocks.Card("", None, None)


def test_the_cpu_s_timer_times_calls() -> None:
    import time

    timer = timing.CpuTimer(seconds=0.02)
    prepared = timer.prepare(lambda: time.sleep(0.002))
    samples = timer.burst(prepared)
    assert prepared.timer == "cpu" and len(samples) >= 3 and min(samples) >= 2.0
    assert timer.sustain(prepared, 0.01).ms >= 2.0
