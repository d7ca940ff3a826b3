"""The roofline of a GPU: how fast a kernel can run, given its FLOPs per byte. A model, no clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..errors import ArgumentError
from ..hardware import GPU
from ..language import Text
from .bill import Traffic

Bound = Literal["memory", "compute"]


@dataclass(frozen=True)
class Roofline:
    """Two ceilings: the memory's, that rises with intensity, and the arithmetic one, flat.

    Example:
        >>> from fa_toolkit.hardware import gpu
        >>> line = roofline(gpu("a100-40"), "float16")
        >>> round(line.ridge), line.bound(64), line.attainable(64) / 1e12
        (201, 'memory', 99.52)
    """

    gpu: str
    dtype: str
    peak: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """FLOPs per byte where both ceilings meet: less is bound by memory, more by arithmetic."""
        return self.peak / self.bandwidth

    def attainable(self, intensity: float) -> float:
        """FLOP/s that a kernel can reach at most that moves a byte for so many FLOPs.

        Of an intensity in requested bytes no bound follows: what a cache answers does not cross.
        """
        return min(self.peak, self.bandwidth * intensity)

    def bound(self, intensity: float) -> Bound:
        """What limits a kernel of this intensity."""
        return "memory" if intensity < self.ridge else "compute"


def roofline(
    gpu: GPU, dtype: str = "float16", *, level: Literal["hbm", "sram"] = "hbm"
) -> Roofline:
    """The roofline of `gpu` over its HBM, or over its shared memory.

    Raises:
        ArgumentError: if the GPU's bandwidth or its peak rate for `dtype` is not known.
    """
    bandwidth = gpu.need("hbm_bandwidth" if level == "hbm" else "sram_bandwidth")
    return Roofline(gpu.name, dtype, gpu.peak(dtype), bandwidth)


def intensity(flops: float, traffic: Traffic) -> float:
    """FLOPs per byte of HBM traffic.

    Raises:
        ArgumentError: if no byte moves.
    """
    if traffic.total == 0:
        raise ArgumentError(
            "traffic",
            expected=Text("at least one byte", "至少一个字节"),
            got="0",
            hint=Text("an empty problem has no intensity", "空问题没有计算强度可言"),
        )
    return flops / traffic.total


def modelled_time(
    traffic: Traffic, flops: float, gpu: GPU, dtype: str = "float16", *, exponentials: float = 0
) -> float:
    """Seconds a run would take if everything overlapped perfectly: the longest of its parts.

    A modelled time, not a measured one: no launch cost, every unit at its peak, every byte from
    HBM. Of bytes that do cross HBM it is a lower bound. Of requested bytes it is none: a kernel
    whose re-reads of K and V hit the L2 cache can take less.

        max(bytes / bandwidth, flops / peak, exponentials / exp_rate)

    Args:
        flops: FLOPs of the matrix products.
        exponentials: exponentials, if they are to count too.

    Raises:
        ArgumentError: if a figure of the GPU that is needed is not known.

    Example:
        >>> from fa_toolkit.hardware import gpu
        >>> modelled_time(Traffic(reads=1_555_000_000, writes=0), 0, gpu("a100-40"))
        0.001
    """
    line = roofline(gpu, dtype)
    parts = [traffic.total / line.bandwidth, flops / line.peak]
    if exponentials:
        parts.append(exponentials / gpu.need("exp_rate"))
    return max(parts)
