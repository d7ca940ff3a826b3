"""The levels of memory of one GPU, from small and fast to large and slow. Draws nothing."""

from __future__ import annotations

from dataclasses import dataclass

from .record import GPU, LEVELS, Level


@dataclass(frozen=True)
class Rung:
    """One level of memory over the whole chip; None where no figure is known.

    Args:
        bandwidth: bytes per second; `measured` tells ours from published or derived ones.
        latency: clocks from load to use.
    """

    level: Level
    bytes: int | None
    bandwidth: float | None
    latency: float | None
    measured: bool = False


def ladder(gpu: GPU) -> tuple[Rung, ...]:
    """The four levels of memory of `gpu`: registers, shared memory, L2, HBM.

    Published or derived bandwidths are taken where there are any, else measured ones, marked.

    Example:
        >>> from fa_toolkit.hardware import gpu
        >>> for rung in ladder(gpu("a100-40")):
        ...     print(rung.level, rung.bytes, rung.bandwidth)
        registers 28311552 None
        shared 18137088 19491840000000.0
        l2 41943040 7219200000000.0
        hbm 42949672960 1555000000000.0
    """
    sizes = {"registers": gpu.registers, "shared": gpu.shared, "l2": gpu.l2, "hbm": gpu.hbm_bytes}
    published = {
        "shared": gpu.sram_bandwidth,
        "l2": gpu.l2_bandwidth,
        "hbm": gpu.hbm_bandwidth,
    }
    ours = {"shared": "sram_bandwidth", "l2": "l2_bandwidth", "hbm": "hbm_bandwidth"}
    rungs = []
    for level in LEVELS:
        bandwidth = published.get(level)
        figure = gpu.measured.get(ours.get(level, ""))
        use_ours = bandwidth is None and figure is not None
        if use_ours and figure is not None:
            bandwidth = figure.value
        rungs.append(Rung(level, sizes[level], bandwidth, gpu.latency.get(level), use_ours))
    return tuple(rungs)
