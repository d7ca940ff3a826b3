"""Where a number comes from and how it was taken. Both speak both languages; neither measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..language import Text, say

_LINE = Text(
    "{device}, driver {driver}, {versions}, {date}", "{device}，驱动 {driver}，{versions}，{date}"
)
_NO_DRIVER = Text("{device}, {versions}, {date}", "{device}，{versions}，{date}")
_METHOD = {
    "inputs": Text("fresh {inputs} inputs", "每次新取的{inputs}输入"),
    "checked": Text("checked against {reference} before timing", "计时前先与 {reference} 对照"),
    "cold": Text("cold L2", "L2 清空"),
    "warm": Text("L2 not cleared", "L2 不清空"),
    "pause": Text(
        "{pause:g} s pause, {burst:g} ms bursts", "每次停 {pause:g} 秒，只测 {burst:g} 毫秒"
    ),
    "rounds": Text("median of {rounds} interleaved rounds", "{rounds} 轮交错取中位数"),
    "graph": Text(
        "calls under {ms:g} ms from a CUDA graph", "短于 {ms:g} 毫秒的用 CUDA graph 重放"
    ),
}
_NORMAL = Text("normal", "正态分布")


@dataclass(frozen=True)
class Provenance:
    """Everything needed to believe or repeat a run.

    Args:
        device: as its driver names it.
        driver: "" where there is none (a CPU).
        versions: {package: version}; torch always.
        date: ISO, day or minute.
        command: what was typed.
        source: the file or study the numbers were taken from.
        max_clock_mhz, power_limit_w: of the device, None where unknown.
    """

    device: str
    driver: str
    versions: Mapping[str, str] = field(hash=False)
    date: str
    command: str
    source: str
    max_clock_mhz: float | None = None
    power_limit_w: float | None = None

    def line(self) -> str:
        """One line for the foot of a figure or table: device, driver, main versions, day."""
        names = [name for name in ("torch", "triton") if name in self.versions]
        versions = say(Text(", ", "，")).join(f"{name} {self.versions[name]}" for name in names)
        text = _LINE if self.driver else _NO_DRIVER
        return say(
            text, device=self.device, driver=self.driver, versions=versions, date=self.date[:10]
        )


@dataclass(frozen=True)
class Method:
    """How the times were taken.

    Args:
        pause_s, burst_ms: rest before each timing and its length, against the power cap.
        rounds: how often all providers were gone through.
        cold_l2: whether the L2 was overwritten before each call.
        graph_below_ms: calls shorter than this were replayed from a CUDA graph; None: never.
        inputs: how they were drawn.
        reference: what outputs were checked against; "" if they were not.
        noise: relative difference under which two numbers of the run count as equal.
    """

    pause_s: float
    burst_ms: float
    rounds: int
    cold_l2: bool
    graph_below_ms: float | None
    inputs: str = "normal"
    reference: str = "float32"
    noise: float = 0.015

    def line(self) -> str:
        """The method in one line, in the language in force."""
        inputs = say(_NORMAL) if self.inputs == "normal" else self.inputs
        parts = [say(_METHOD["inputs"], inputs=inputs)]
        if self.reference:
            parts.append(say(_METHOD["checked"], reference=self.reference))
        parts.append(say(_METHOD["cold" if self.cold_l2 else "warm"]))
        if self.pause_s:
            parts.append(say(_METHOD["pause"], pause=self.pause_s, burst=self.burst_ms))
        parts.append(say(_METHOD["rounds"], rounds=self.rounds))
        if self.graph_below_ms is not None:
            parts.append(say(_METHOD["graph"], ms=self.graph_below_ms))
        return say(Text(", ", "，")).join(parts)
