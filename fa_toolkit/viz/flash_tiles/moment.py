"""One step of a tape, frozen: what is on chip, which tile is worked on, what has been done.

The browser works the same out for every step at once (static/film.js); a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from ..tape import Tape
from .frames import Frame

_PER_TILE = ("s", "p", "alpha", "dp", "ds")
_BY_KEY = ("K", "V", "dK", "dV")
_BY_SPLIT = ("O_parts", "lse_parts")


@dataclass
class Moment:
    """A step.

    Args:
        now: (row tile, key tile) worked on, or None.
        phase, program: of the last event; -1 before the first.
        done: tiles finished in earlier steps of this phase.
        lit: tensor -> its tile that is on chip.
        stored: tensor -> its tiles that have been written.
        chip: the numbers on chip, by name.
        moved: bytes read and written so far.
    """

    now: tuple[int, int] | None = None
    phase: int = 0
    program: int = -1
    done: set[tuple[int, int]] = field(default_factory=set)
    lit: dict[str, int] = field(default_factory=dict)
    stored: dict[str, set[int]] = field(default_factory=dict)
    chip: dict[str, NDArray[Any]] = field(default_factory=dict)
    moved: tuple[int, int] = (0, 0)


def moment(tape: Tape, frames: Sequence[Frame], step: int) -> Moment:
    """The moment of a step, replayed from the beginning."""
    at = Moment()
    done: dict[int, dict[tuple[int, int], int]] = {}
    for number in range(1, step + 1):
        _play(tape, frames[number], at)
        if at.now is not None:
            done.setdefault(at.phase, {})[at.now] = number
    merging = tape.phases[at.phase] == "merge"  # works on no tile: it shows what the splits did
    phase = tape.phases.index("split") if merging else at.phase
    later = _last_visits(tape, frames, phase)
    at.done = {tile for tile in done.get(phase, {}) if later[tile] < step}
    return at


def _last_visits(tape: Tape, frames: Sequence[Frame], phase: int) -> dict[tuple[int, int], int]:
    """The last step that works on each tile of a phase: then it is done."""
    at, last = Moment(), {}
    for number, frame in enumerate(frames):
        _play(tape, frame, at)
        if at.now is not None and at.phase == phase and frame.stop > frame.start:
            last[at.now] = number
    return last


def _play(tape: Tape, frame: Frame, at: Moment) -> None:
    """Let the events of one step happen to a moment."""
    c, worked = tape.columns, bool(at.chip.keys() & set(_PER_TILE))
    row, col = at.lit.get("Q"), at.lit.get("K")
    if at.now is not None:
        row, col = at.now
    only_stores = frame.stop > frame.start
    for event in range(frame.start, frame.stop):
        kind, box = int(c["kind"][event]), [int(n) for n in c["box"][event]]
        place = (int(c["phase"][event]), int(c["program"][event]))
        if place != (at.phase, at.program):
            at.phase, at.program = place
            at.chip, at.lit, row, col, worked = {}, {}, None, None, False
        name = "" if kind == 2 else tape.tensors[c["tensor"][event]]
        block = tape.tile.block_n if name in _BY_KEY else tape.tile.block_m
        only_stores &= kind == 1
        if kind == 0:
            if worked:
                _drop(at.chip, _PER_TILE)
            worked = False
            at.lit[name] = box[2] if name in _BY_SPLIT else box[0] // block
            row = box[0] // tape.tile.block_m if name == "Q" else row
            col = box[0] // tape.tile.block_n if name == "K" else col
        elif kind == 1:
            at.stored.setdefault(name, set()).add(box[2] if name in _BY_SPLIT else box[0] // block)
        else:
            worked = True
            if box[3] > box[2] and tape.phases[at.phase] != "merge":
                row, col = box[0] // tape.tile.block_m, box[2] // tape.tile.block_n
        at.chip |= tape.values(event)
    if only_stores:
        _drop(at.chip, (*_PER_TILE, "k", "v"))
        _drop(at.lit, ("K", "V"))
    size = tape.moved()[frame.stop - 1] if frame.stop else (0, 0)
    at.moved = (int(size[0]), int(size[1]))
    at.now = None if only_stores or row is None or col is None else (row, col)


def _drop(table: dict[str, Any], names: Sequence[str]) -> None:
    for name in names:
        table.pop(name, None)
