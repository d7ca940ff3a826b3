"""The bill of a run: bytes requested from HBM, by tensor and by phase. Knows no algorithm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

Direction = Literal["read", "write"]
Moved = Mapping[str, tuple[int, int]]


class Line(NamedTuple):
    """One line of a bill: in this phase, so many bytes of this tensor, read or written."""

    phase: str
    direction: Direction
    tensor: str
    bytes: int


@dataclass(frozen=True)
class Traffic:
    """Bytes that cross the boundary between HBM and chip.

    Three ways to count, which are often confused: bytes, tensors (`by_tensor`) and phases
    (`phases`). Caches are ignored: a tile that hits in L2 is still requested and counted.

    Args:
        reads: bytes loaded from HBM.
        writes: bytes stored to HBM.
        by_tensor: (bytes read, bytes written) of each tensor; one that did not move is absent.
        phases: (bytes read, bytes written) of each phase; likewise.

    Example:
        >>> bill = Traffic.of([Line("scores", "read", "Q", 8), Line("scores", "write", "S", 4)])
        >>> bill, bill.total, bill.phases["scores"]
        (Traffic(reads=8, writes=4), 12, (8, 4))
    """

    reads: int
    writes: int
    by_tensor: Moved = field(default_factory=dict, repr=False, hash=False)
    phases: Moved = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def of(cls, lines: Iterable[Line]) -> Traffic:
        """Add up the lines of a bill."""
        by_tensor: dict[str, tuple[int, int]] = {}
        phases: dict[str, tuple[int, int]] = {}
        for phase, direction, tensor, size in lines:
            if size == 0:
                continue
            read, write = (size, 0) if direction == "read" else (0, size)
            for table, name in ((by_tensor, tensor), (phases, phase)):
                old = table.get(name, (0, 0))
                table[name] = (old[0] + read, old[1] + write)
        return cls(
            reads=sum(read for read, _ in phases.values()),
            writes=sum(write for _, write in phases.values()),
            by_tensor=MappingProxyType(by_tensor),
            phases=MappingProxyType(phases),
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (Traffic, (self.reads, self.writes, dict(self.by_tensor), dict(self.phases)))

    @property
    def total(self) -> int:
        """Bytes both ways."""
        return self.reads + self.writes

    @property
    def transfers(self) -> int:
        """Transfers when each phase is one read and one write: 6 for standard, 2 for flash."""
        return sum((read > 0) + (write > 0) for read, write in self.phases.values())

    @property
    def tensors_read(self) -> tuple[str, ...]:
        """The tensors that are read: for standard attention Q, K, S, P and V."""
        return tuple(name for name, (read, _) in self.by_tensor.items() if read)

    @property
    def tensors_written(self) -> tuple[str, ...]:
        """The tensors that are written: for standard attention S, P and O."""
        return tuple(name for name, (_, write) in self.by_tensor.items() if write)
