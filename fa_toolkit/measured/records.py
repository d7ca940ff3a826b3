"""The rows of a recorded run. Plain frozen values: they compute what follows from them, no more.

A run of `fa bench` and a run kept in `data/` are the same thing, a `Run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..io_model import decode_traffic
from ..language import Text, say
from ..problem import AttentionProblem
from .provenance import Method, Provenance
from .timeline import Stamps, Timeline
from .variants import is_launch

Pass = Literal["forward", "backward", "decode"]
#: "burst": after a pause, tens of milliseconds; "sustained": back to back until the clock settles;
#: "unpaced": neither, so heat and order of the providers leak into it.
Regime = Literal["burst", "sustained", "unpaced"]


def counted_flops(problem: AttentionProblem, pass_: Pass) -> float:
    """FLOPs that every published benchmark divides by: a causal mask counts half, exactly.

        forward, decode: 4 B Hq Nq Nk D, half of it if causal;  backward: 2.5 times the forward

    `io_model.forward_flops` counts the diagonal too, 1/N more. For one decoding query nothing is
    halved: it sees every key.

    Example:
        >>> counted_flops(AttentionProblem(len_q=1024, len_k=1024, causal=True), "forward")
        134217728.0
    """
    p = problem
    whole = 2.0 * p.batch * p.heads_q * p.len_q * p.len_k * (p.head_dim + p.head_dim_v)
    if p.causal and pass_ != "decode":
        whole /= 2
    return 2.5 * whole if pass_ == "backward" else whole


@dataclass(frozen=True)
class Speed:
    """One provider on one case: a time, a rate, or both as the source states them.

    Args:
        ms: median time of one call; None where only the rate was stated.
        tflops: `counted_flops` over the time; None for decode, which moves bytes.
        gbps: decode only, `io_model.decode_traffic` over the time, in 10^9 bytes per second.
        errors: relative error of each output against the reference, {"o": ..., "dq": ...}.
        variant: of an ablation, what was changed; "" for the code as it ships.
        failed: why there is no number, such as "out of memory"; then all of them are None.
        rounds: medians of the single rounds.
    """

    provider: str
    pass_: Pass
    problem: AttentionProblem
    ms: float | None = None
    tflops: float | None = None
    gbps: float | None = None
    regime: Regime = "burst"
    clock_mhz: float | None = None
    watts: float | None = None
    errors: Mapping[str, float] = field(default_factory=dict, hash=False)
    rounds: tuple[float, ...] = ()
    timer: str = ""
    variant: str = ""
    failed: str = ""
    run: str = ""

    @property
    def milliseconds(self) -> float | None:
        """The time of one call, from the rate where no time was stated."""
        if self.ms is not None:
            return self.ms
        if self.tflops:
            return counted_flops(self.problem, self.pass_) / self.tflops / 1e9
        if self.gbps:
            return decode_traffic(self.problem).total / self.gbps / 1e6
        return None

    @property
    def rate(self) -> float | None:
        """TFLOP/s, or GB/s for decode: what tables and plots show."""
        return self.gbps if self.pass_ == "decode" else self.tflops


@dataclass(frozen=True)
class Memory:
    """Peak memory of one call above its inputs, in MiB; None with a reason if it did not fit.

    Args:
        pass_: "forward", or "training": forward and backward together.
    """

    provider: str
    pass_: Literal["forward", "training"]
    problem: AttentionProblem
    mib: float | None = None
    failed: str = ""
    run: str = ""


@dataclass(frozen=True)
class Host:
    """Median time that Python takes for one call, without waiting for the device.

    Args:
        replayed: the same for a replay of the call from a CUDA graph; None where it cannot be
            captured.
        trained: the same for a call with gradients and its backward; None without a backward.
    """

    provider: str
    problem: AttentionProblem
    microseconds: float
    replayed: float | None = None
    trained: float | None = None
    run: str = ""


@dataclass(frozen=True)
class Bill:
    """Bytes of one run of an algorithm: counted while it ran, and as `io_model` has them."""

    algorithm: str
    problem: AttentionProblem
    tile: tuple[int, int]
    counted: tuple[int, int]
    modelled: tuple[int, int]
    run: str = ""


@dataclass(frozen=True)
class Ablated:
    """A kernel with one thing changed, beside the shipped one: same case, pass and regime."""

    changed: Speed
    shipped: Speed

    @property
    def share(self) -> float | None:
        """What is left of the speed; None where there is no such kernel."""
        rates = self.changed.rate, self.shipped.rate
        return rates[0] / rates[1] if rates[0] and rates[1] else None

    @property
    def same(self) -> bool:
        """Whether it is a tile, a number of warps or of stages that the shipped kernel has anyway."""
        near = self.share is not None and abs(self.share - 1) < Method.noise
        return near and is_launch(self.changed.variant)


@dataclass(frozen=True)
class Ceiling:
    """One limit of the device as measured: `value`, or a range from `low` to `high`."""

    name: str
    what: Text
    unit: str
    value: float
    low: float | None = None
    high: float | None = None
    regime: Regime = "burst"
    clock_mhz: float | None = None
    watts: float | None = None
    run: str = ""


@dataclass(frozen=True)
class Feature:
    """What a feature of Triton or Gluon did on the device, and what stood in the machine code."""

    name: str
    works: Text
    tflops: float
    seen: str = ""
    run: str = ""


@dataclass(frozen=True)
class Ratio:
    """How many times faster flash kernels are than standard attention: (forward, backward, both).

    Args:
        eager_ms: forward and backward of eager attention in the dtype of the problem.
        fa2, best: eager's time over theirs.
        math_over_fa2: SDPA's math backend, which computes in float32, over FA2; both passes.
    """

    problem: AttentionProblem
    eager_ms: tuple[float, float]
    fa2: tuple[float, float, float]
    best: tuple[float, float, float]
    math_over_fa2: float
    run: str = ""


@dataclass(frozen=True)
class Accuracy:
    """Worst relative error over the cases of a run: of one output, for a group of providers."""

    providers: Text
    output: str
    low: float
    high: float
    run: str = ""


@dataclass(frozen=True)
class Run:
    """One run: who, where, when, how, and its rows."""

    id: str
    title: Text
    provenance: Provenance
    method: Method
    speeds: tuple[Speed, ...] = ()
    memories: tuple[Memory, ...] = ()
    hosts: tuple[Host, ...] = ()
    ceilings: tuple[Ceiling, ...] = ()
    features: tuple[Feature, ...] = ()
    ratios: tuple[Ratio, ...] = ()
    accuracies: tuple[Accuracy, ...] = ()
    bills: tuple[Bill, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    stamps: tuple[Stamps, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict, hash=False)
    left_out: tuple[str, ...] = ()
    complete: bool = True

    def __str__(self) -> str:
        return f"{self.id}: {say(self.title)} ({self.provenance.line()})"
