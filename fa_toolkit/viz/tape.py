"""A trace as columns of numbers: what every player plays. Draws nothing and says nothing.

A trace is a list of events; a tape holds the same events as arrays, one entry an event, so that
thousands of them travel to a browser as a few hundred kilobytes. Traces of `tiled` and of the
kernels' recorder look alike and both fit; this module imports neither recorder nor kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..language import Text
from ..problem import AttentionProblem, TileShape
from ..tiled.trace import PHASES, Algorithm, Event, Step

#: Numbers of tiles that one tape may carry; more and the tape carries none.
MOST_VALUES = 1 << 18
#: Events of one tape; a browser scrubs this many without a pause.
MOST_EVENTS = 1 << 17
KINDS = ("load", "store", "work")
NOTHING = 255  # the tensor of an event that touches none


class Traced(Protocol):
    """What `tiled.Trace` and `kernels.KernelTrace` have in common."""

    @property
    def problem(self) -> AttentionProblem: ...
    @property
    def tile(self) -> TileShape: ...
    @property
    def algorithm(self) -> Algorithm: ...
    @property
    def events(self) -> list[Event]: ...


@dataclass(frozen=True)
class Tape:
    """Events as columns; names (steps, phases, tensors, values) as indices into tuples.

    Args:
        columns: one entry an event: `step`, `kind`, `phase`, `tensor`, `program` (index within its
            launch), `bytes`, and `box` with four numbers: rows and columns, half open. `value_at`
            (one more than events) says which entries of `value_name`, `value_shape`, `value_start`
            belong to an event; `pool` holds the numbers themselves, float32.
        wanted: numbers the trace holds; more than MOST_VALUES and `pool` is empty.
    """

    problem: AttentionProblem
    tile: TileShape
    algorithm: Algorithm
    phases: tuple[str, ...]
    steps: tuple[str, ...]
    tensors: tuple[str, ...]
    names: tuple[str, ...]
    columns: Mapping[str, NDArray[Any]] = field(repr=False)
    wanted: int = 0

    def __len__(self) -> int:
        return len(self.columns["step"])

    @property
    def rows(self) -> int:
        """Rows of Q: queries, or in decoding the packed rows of one key head's group."""
        packed = self.problem.group if self.algorithm == "decode" else 1
        return self.problem.len_q * packed

    @property
    def keys(self) -> int:
        """Keys: all of them, or in decoding as many as were read from the cache."""
        if self.algorithm != "decode" or "K" not in self.tensors:
            return self.problem.len_k
        return int(self.columns["box"][self.columns["tensor"] == self.tensors.index("K"), 1].max())

    @property
    def splits(self) -> int:
        """Parts the keys are cut into; 1 where nothing is merged."""
        if "O_parts" not in self.tensors:
            return 1
        parts = self.columns["tensor"] == self.tensors.index("O_parts")
        return int(self.columns["box"][parts, 3].max())

    @property
    def has_values(self) -> bool:
        """Whether the numbers of the tiles are on the tape."""
        return bool(self.columns["pool"].size)

    def values(self, event: int) -> dict[str, NDArray[Any]]:
        """The numbers an event left on chip, by name."""
        c = self.columns
        found = {}
        for entry in range(c["value_at"][event], c["value_at"][event + 1]):
            rows, cols = (int(n) for n in c["value_shape"][entry])
            start = int(c["value_start"][entry])
            found[self.names[c["value_name"][entry]]] = c["pool"][
                start : start + rows * cols
            ].reshape(rows, cols)
        return found

    def moved(self) -> NDArray[np.int64]:
        """Bytes read and written after each event, [events, 2]."""
        size, kind = self.columns["bytes"].astype(np.int64), self.columns["kind"]
        return np.stack([np.cumsum(size * (kind == k)) for k in (0, 1)], axis=1)

    def names_table(self) -> dict[str, Any]:
        """What the indices mean, ready for JSON."""
        return {
            "algorithm": self.algorithm, "phases": self.phases, "steps": self.steps,
            "tensors": self.tensors, "names": self.names, "hasValues": self.has_values,
            "lenQ": self.rows, "lenK": self.keys,
            "blockM": self.tile.block_m, "blockN": self.tile.block_n,
        }  # fmt: skip


def tape(trace: Traced, *, head: tuple[int, int] | None = (0, 0), values: bool = True) -> Tape:
    """The events of a trace as columns; those of one (batch, query head), or all with head=None.

    Raises:
        ArgumentError: if there is no such head, or there are too many events to play.

    Example:
        >>> import torch
        >>> from fa_toolkit.tiled import trace_flash_forward
        >>> q = torch.ones(1, 1, 8, 4)
        >>> made = tape(trace_flash_forward(q, q, q, tile=TileShape(4, 4), keep_values=True))
        >>> len(made), made.tensors, int(made.moved()[-1].sum())
        (22, ('Q', 'K', 'V', 'O', 'lse'), 800)
    """
    events = trace.events if head is None else _of_head(trace, head)
    if len(events) > MOST_EVENTS:
        raise ArgumentError(
            "trace",
            expected=Text(f"at most {MOST_EVENTS:,} events", f"最多 {MOST_EVENTS:,} 个事件"),
            got=f"{len(events):,}",
            hint=Text("larger tiles or a shorter sequence", "用更大的块，或更短的序列"),
        )
    wanted = sum(x.numel() for event in events for x in event.values.values())
    kept = values and 0 < wanted <= MOST_VALUES
    phases, steps = tuple(PHASES[trace.algorithm]), tuple(step.value for step in Step)
    tensors = tuple(dict.fromkeys(event.tensor for event in events if event.tensor))
    columns = _plain_columns(events, phases, steps, tensors)
    names, more = _value_columns(events if kept else [], len(events))
    return Tape(trace.problem, trace.tile, trace.algorithm, phases, steps, tensors, names,
                {**columns, **more}, wanted)  # fmt: skip


def _of_head(trace: Traced, head: tuple[int, int]) -> list[Event]:
    """Events of the programs that serve one query head; a key head's program serves its group."""
    problem = trace.problem
    if not (0 <= head[0] < problem.batch and 0 <= head[1] < problem.heads_q):
        raise ArgumentError(
            "head",
            expected=Text("a (batch, head) of the trace", "轨迹里有的 (batch, head)"),
            got=str(head),
        )
    key_head = (head[0], head[1] // problem.group)
    by_key = ("dkdv", "split", "merge")
    return [e for e in trace.events if e.program[:2] == (key_head if e.phase in by_key else head)]


def _numbers(events: list[Event]) -> Iterator[int]:
    """The number of each event's program in its launch; a split counts within its row tile."""
    splits = max((e.program[3] for e in events if len(e.program) > 3), default=0) + 1
    for event in events:
        more = event.program[3] if len(event.program) > 3 else None
        yield event.program[2] if more is None else event.program[2] * splits + more


def _plain_columns(
    events: list[Event], phases: tuple[str, ...], steps: tuple[str, ...], tensors: tuple[str, ...]
) -> dict[str, NDArray[Any]]:
    """One entry an event; boxes as four numbers."""
    phase, step, tensor = ({name: i for i, name in enumerate(n)} for n in (phases, steps, tensors))

    def column(numbers: Iterable[int], kind: str) -> NDArray[Any]:
        return np.fromiter(numbers, dtype=kind, count=len(events))

    box = np.array([(*e.box[0], *e.box[1]) for e in events], dtype="i4").reshape(-1, 4)
    return {
        "step": column((step[e.step.value] for e in events), "u1"),
        "kind": column((KINDS.index(e.kind) for e in events), "u1"),
        "phase": column((phase[e.phase] for e in events), "u1"),
        "tensor": column((tensor.get(e.tensor, NOTHING) for e in events), "u1"),
        "program": column(_numbers(events), "i4"),
        "bytes": column((e.bytes for e in events), "u4"),
        "box": box,
    }


def _value_columns(
    events: list[Event], count: int
) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
    """The tiles' numbers in one pool; names in lower case, as on chip. A vector is one column."""
    entries: list[tuple[str, Any]] = []
    at = [0]
    for event in events:
        entries += [(name.lower(), x) for name, x in event.values.items()]
        at.append(len(entries))
    at += [len(entries)] * (count + 1 - len(at))
    names = tuple(dict.fromkeys(name for name, _ in entries))
    flat = [x.reshape(x.shape[0], -1) if x.ndim else x.reshape(1, 1) for _, x in entries]
    sizes = [x.numel() for x in flat]
    pool = [np.asarray(x.float().cpu().numpy(), "f4").ravel() for x in flat]
    return names, {
        "value_at": np.array(at, "i4"),
        "value_name": np.array([names.index(name) for name, _ in entries], "u1"),
        "value_shape": np.array([x.shape for x in flat], "i4").reshape(-1, 2),
        "value_start": np.cumsum([0, *sizes[:-1]], dtype="i4") if sizes else np.zeros(0, "i4"),
        "pool": np.concatenate(pool) if pool else np.zeros(0, "f4"),
    }
