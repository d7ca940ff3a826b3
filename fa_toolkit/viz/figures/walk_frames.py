"""Moments of a flash forward trace: what is on chip, done and ahead at each. Draws nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ...language import Text
from ...tiled.trace import Event, Step

if TYPE_CHECKING:
    from ...tiled import Trace

Span = tuple[int, int]


@dataclass(frozen=True)
class Moment:
    """One tile folded in, or one row of tiles stored.

    Args:
        rows: the rows of Q on chip.
        cols: the keys on chip; None once the row is stored.
        visited: (rows, cols) of the tiles finished before this moment.
        stored: row spans of O written so far.
        moved: bytes requested from HBM so far, caches ignored.
        values: tiles on chip by name (q, k, v, s, p, m, l, acc, alpha), empty if not recorded.
        before: m and l of the rows before this tile.
    """

    rows: Span
    cols: Span | None
    visited: frozenset[tuple[Span, Span]]
    stored: tuple[Span, ...]
    moved: int
    values: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)


def moments(trace: Trace, head: tuple[int, int] = (0, 0)) -> list[Moment]:
    """The moments of one (batch, head) of a flash forward trace, in order.

    Raises:
        ArgumentError: if the trace is of another algorithm, or has no such head.
    """
    if trace.algorithm != "flash_forward":
        raise ArgumentError(
            "trace", expected=Text("a flash_forward trace", "flash_forward 的轨迹"),
            got=trace.algorithm, hint="tiled.trace_flash_forward(q, k, v)",
        )  # fmt: skip
    events = [e for e in trace.events if tuple(e.program[:2]) == head]
    if not events:
        raise ArgumentError(
            "head", expected=Text("a (batch, head) of the trace", "轨迹里有的 (batch, head)"),
            got=str(head),
        )  # fmt: skip
    return _moments(events)


def _moments(events: list[Event]) -> list[Moment]:
    out: list[Moment] = []
    visited: list[tuple[Span, Span]] = []
    stored: list[Span] = []
    chip: dict[str, Any] = {}
    before: dict[str, Any] = {}
    moved = 0
    for event in events:
        moved += event.bytes
        if event.step is Step.LOAD_Q:
            chip, before = {}, {}
        if event.kind == "load":
            chip |= {name.lower(): tile for name, tile in event.values.items()}
        elif event.kind == "work":
            chip |= event.values
        if event.step is Step.UPDATE:
            rows, cols = event.box
            out.append(Moment(rows, cols, frozenset(visited), tuple(stored), moved, dict(chip),
                              dict(before)))  # fmt: skip
            visited.append((rows, cols))
            before = {name: chip[name] for name in ("m", "l") if name in chip}
        elif event.kind == "store" and event.tensor == "lse":
            stored.append(event.box[0])
            kept = {n: tile for n, tile in chip.items() if n in ("q", "acc", "m", "l")}
            out.append(Moment(event.box[0], None, frozenset(visited), tuple(stored), moved, kept))
    return out
