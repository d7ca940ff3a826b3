"""The bill of a trace: bytes read and written, by tensor and by phase. Counts, models nothing.

`io_model` says beforehand what a trace will cost; the two are compared in the tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .trace import Event

Bytes = tuple[int, int]  # (read, written)


@dataclass(frozen=True)
class Ledger:
    """Bytes requested from and sent to HBM, caches ignored.

    Args:
        reads, writes: totals.
        by_tensor: tensor -> (read, written); one that did not move is absent.
        by_phase: phase -> (read, written), a phase being one kernel launch; likewise.
    """

    reads: int
    writes: int
    by_tensor: Mapping[str, Bytes]
    by_phase: Mapping[str, Bytes]

    @classmethod
    def of(cls, events: Iterable[Event]) -> Ledger:
        """Add up `events`."""
        by_tensor: dict[str, Bytes] = {}
        by_phase: dict[str, Bytes] = {}
        for event in events:
            if event.kind == "work" or not event.bytes:
                continue
            moved = (event.bytes, 0) if event.kind == "load" else (0, event.bytes)
            by_tensor[event.tensor] = _add(by_tensor.get(event.tensor, (0, 0)), moved)
            by_phase[event.phase] = _add(by_phase.get(event.phase, (0, 0)), moved)
        reads, writes = (sum(side) for side in zip((0, 0), *by_phase.values(), strict=True))
        return cls(reads, writes, by_tensor, by_phase)

    @property
    def total(self) -> int:
        """Bytes both ways."""
        return self.reads + self.writes

    @property
    def transfers(self) -> int:
        """Phases that read plus phases that write: the "6 against 2" of the papers' retellings."""
        return sum((read > 0) + (written > 0) for read, written in self.by_phase.values())

    @property
    def tensors_read(self) -> tuple[str, ...]:
        """The tensors that are read, in the order they first moved."""
        return tuple(name for name, (read, _) in self.by_tensor.items() if read)

    @property
    def tensors_written(self) -> tuple[str, ...]:
        """The tensors that are written, in the order they first moved."""
        return tuple(name for name, (_, written) in self.by_tensor.items() if written)


def _add(a: Bytes, b: Bytes) -> Bytes:
    return a[0] + b[0], a[1] + b[1]
