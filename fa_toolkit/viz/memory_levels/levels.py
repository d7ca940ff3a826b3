"""The levels of memory of a GPU as rows, and where a tensor of so many bytes fits. Draws nothing.

Every number is one of `fa_toolkit.hardware`, with its source; nothing is typed in here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...hardware import GPU, ladder

ITEMSIZE = 2  # the tensors are fp16
TILE_ROWS = 128
HEADS = 32
#: The tensors to choose from: name -> bytes for N and d.
TENSORS = ("q", "k", "s", "heads")
#: A host has as much memory as somebody built in, so its size is no figure of the GPU.
LEVELS = ("registers", "shared", "l2", "hbm", "host")


@dataclass(frozen=True)
class Level:
    """One level over the whole chip; None where no figure is published.

    Args:
        each: bytes in one SM, where the level is cut into SMs.
        bandwidth: bytes per second; `measured` tells ours from published or derived ones.
        latency: clocks from load to use.
        sources: "size", "bandwidth", "latency" -> where the figure comes from.
    """

    name: str
    bytes: int | None
    each: int | None
    bandwidth: float | None
    latency: float | None
    measured: bool = False
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)


_SIZE = {"registers": "registers_per_sm", "shared": "shared_per_sm", "l2": "l2", "hbm": "hbm_bytes"}
_SPEED = {"shared": "sram_bandwidth", "l2": "l2_bandwidth", "hbm": "hbm_bandwidth"}


def levels(card: GPU) -> tuple[Level, ...]:
    """The five levels of `card`, nearest to the arithmetic units first.

    Example:
        >>> from fa_toolkit.hardware import gpu
        >>> [(level.name, level.bytes) for level in levels(gpu("a100-40"))][1:3]
        [('shared', 18137088), ('l2', 41943040)]
    """
    per_sm = {"registers": card.registers_per_sm, "shared": card.shared_per_sm}
    rows = []
    for rung in ladder(card):
        sources = {"size": card.sources.get(_SIZE[rung.level], "")}
        speed = _SPEED.get(rung.level, "")
        if rung.bandwidth is not None:
            found = card.measured[speed].source if rung.measured else card.sources[speed]
            sources["bandwidth"] = found
        if rung.latency is not None:
            sources["latency"] = card.sources["latency"]
        rows.append(Level(rung.level, rung.bytes, per_sm.get(rung.level), rung.bandwidth,
                          rung.latency, rung.measured, sources))  # fmt: skip
    link = {"bandwidth": card.sources["host_bandwidth"]} if card.host_bandwidth else {}
    if link:
        link["bandwidth"] = f"{card.sources['pcie_generation']}; {link['bandwidth']}"
    return (*rows, Level("host", None, None, card.host_bandwidth, None, False, link))


def tensor_bytes(what: str, n: int, head_dim: int) -> int:
    """Bytes of a tensor to choose.

    Example:
        >>> [tensor_bytes(what, 4096, 64) for what in TENSORS]
        [16384, 524288, 33554432, 1073741824]
    """
    elements = {"q": TILE_ROWS * head_dim, "k": n * head_dim, "s": n * n, "heads": HEADS * n * n}
    return elements[what] * ITEMSIZE


def first_fit(card: GPU, size: int) -> str:
    """The nearest level that holds `size` bytes, all SMs together; the host holds everything."""
    return next(row.name for row in levels(card) if row.name == "host" or (row.bytes or 0) >= size)


def passes(card: GPU, size: int) -> tuple[float | None, ...]:
    """Seconds of one pass over `size` bytes at every level, at its full bandwidth: a model.

    Example:
        >>> from fa_toolkit.hardware import gpu
        >>> [None if t is None else round(t * 1e6, 2) for t in passes(gpu("a100-40"), 2**25)]
        [None, 1.72, 4.65, 21.58, 1064.96]
    """
    return tuple(None if row.bandwidth is None else size / row.bandwidth for row in levels(card))
