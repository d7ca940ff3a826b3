"""A tape cut into the steps a reader sees, each with its sentence and the numbers in it.

Two cuts of one tape: `tiles` (one step for every tile a program folds in) and `operations` (one
for every labelled step of the algorithm). Sentences are templates by name; words are elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..tape import Tape

Cut = Literal["tiles", "operations"]
CUTS: tuple[Cut, ...] = ("tiles", "operations")
MOST_NUMBERS = 5


@dataclass(frozen=True)
class Frame:
    """Events `start` to `stop` of the tape happen in this step; everything before has happened.

    Args:
        say: name of the sentence.
        numbers: what stands in it.
        asks: the factor a reader could predict here; None where there is nothing to ask.
    """

    start: int
    stop: int
    say: str
    numbers: tuple[float, ...] = ()
    asks: float | None = None


def frames(tape: Tape, cut: Cut = "tiles") -> list[Frame]:
    """The steps of a tape. The first shows the beginning: nothing has happened yet.

    Example:
        >>> import torch
        >>> from fa_toolkit.problem import TileShape
        >>> from fa_toolkit.tiled import trace_flash_forward
        >>> from ..tape import tape
        >>> q = torch.ones(1, 1, 8, 4)
        >>> made = tape(trace_flash_forward(q, q, q, tile=TileShape(4, 4)))
        >>> [frame.say for frame in frames(made)]
        ['start', 'first', 'joins', 'stored', 'first', 'joins', 'stored']
    """
    numbers = (tape.rows, tape.keys, tape.tile.block_m, tape.tile.block_n)
    made = [Frame(0, 0, "start", tuple(map(float, numbers)))]
    teller = _Teller(tape)
    spans = _tiles(tape) if cut == "tiles" else _operations(tape)
    asked = False
    for start, stop in spans:
        frame = teller.frame(start, stop, cut)
        if frame.asks is not None and asked:
            frame = Frame(frame.start, frame.stop, frame.say, frame.numbers)
        asked = asked or frame.asks is not None
        made.append(frame)
    return made


def wire(made: list[Frame], says: list[str]) -> dict[str, NDArray[Any]]:
    """Frames as columns: `stop` (events), `say` (index), `numbers`, `asks` (nan: nothing)."""
    numbers = np.full((len(made), MOST_NUMBERS), np.nan)
    for row, frame in zip(numbers, made, strict=True):
        row[: len(frame.numbers)] = frame.numbers
    asks = [np.nan if frame.asks is None else frame.asks for frame in made]
    return {
        "stop": np.array([frame.stop for frame in made], "i4"),
        "say": np.array([says.index(frame.say) for frame in made], "u1"),
        "numbers": numbers,
        "asks": np.array(asks, "f8"),
    }


def _programs(tape: Tape) -> Iterator[tuple[int, int]]:
    """Event ranges of the programs, in order."""
    c, count = tape.columns, len(tape)
    if not count:
        return
    change = (np.diff(c["program"].astype(int)) != 0) | (np.diff(c["phase"].astype(int)) != 0)
    edges = [0, *(np.flatnonzero(change) + 1).tolist(), count]
    yield from itertools.pairwise(edges)


def _tiles(tape: Tape) -> Iterator[tuple[int, int]]:
    """One range a tile; what is stored at the end is a step of its own in the forward pass."""
    kinds = tape.columns["kind"]
    for begin, end in _programs(tape):
        phase = tape.phases[tape.columns["phase"][begin]]
        own_store = phase in ("forward", "split")
        tail = end
        while tail > begin and kinds[tail - 1] == 1:
            tail -= 1
        at = begin
        for event in range(begin + 1, tail):
            if _loads_after_work(tape, event, begin):
                yield at, event
                at = event
        if own_store:
            if tail > at:
                yield at, tail
            at = tail
        if end > at:
            yield at, end


def _loads_after_work(tape: Tape, event: int, begin: int) -> bool:
    """Whether a tile begins here: a load that follows work, or in a kernel's tape the next keys."""
    c = tape.columns
    if c["kind"][event] != 0:
        return False
    if c["kind"][event - 1] != 0:
        return True
    if (c["kind"] == 2).any():
        return False
    # a recorded kernel has loads and stores only: a tensor that comes again opens a tile
    opener = "Q" if tape.phases[c["phase"][event]] == "dkdv" else "K"
    if tape.tensors[c["tensor"][event]] != opener:
        return False
    return opener in {tape.tensors[t] for t in c["tensor"][begin:event]}


def _operations(tape: Tape) -> Iterator[tuple[int, int]]:
    """One range for every run of events of one program and one step."""
    step = tape.columns["step"]
    for begin, end in _programs(tape):
        edges = [begin, *(np.flatnonzero(np.diff(step[begin:end].astype(int))) + begin + 1), end]
        yield from ((int(a), int(b)) for a, b in itertools.pairwise(edges))


class _Teller:
    """Chooses the sentence of a range of events and collects its numbers."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.c = tape.columns
        self.program: tuple[int, int] | None = None
        self.folded = False  # whether this program has folded a tile in already

    def frame(self, start: int, stop: int, cut: Cut) -> Frame:
        """The frame of events [start, stop)."""
        place = (int(self.c["phase"][start]), int(self.c["program"][start]))
        if place != self.program:
            self.program, self.folded = place, False
        step = self.tape.steps[self.c["step"][stop - 1 if cut == "operations" else start]]
        if cut == "operations":
            return self._operation(start, stop, step)
        return self._tile(start, stop)

    def _tile(self, start: int, stop: int) -> Frame:
        phase = self.tape.phases[self.c["phase"][start]]
        if phase == "delta":
            return Frame(start, stop, *self._delta(start, stop))
        if phase in ("dkdv", "dq"):
            ends = bool(self.c["kind"][stop - 1] == 1)
            spans = (*self._span(start, stop, "Q"), *self._span(start, stop, "K"))
            if phase == "dq":
                spans = (*self._span(start, stop, "K"), *self._span(start, stop, "Q"))
            return Frame(start, stop, phase + ("_last" if ends else ""), spans)
        if phase == "merge":
            return Frame(start, stop, "merge", self._span(start, stop, "O"))
        if self.c["kind"][start] == 1:
            return self._stored(start, stop)
        return self._update(start, stop)

    def _update(self, start: int, stop: int) -> Frame:
        """A tile folded into m, l and acc: does a row find a larger score?"""
        rows, keys = self._span(start, stop, "Q"), self._span(start, stop, "K")
        first, self.folded = not self.folded, True
        if first:
            return Frame(start, stop, "first", (*rows, *keys))
        event = self._last(start, stop, "alpha")
        if event is None:
            return Frame(start, stop, "joins", (*keys, *rows))
        alpha = self.tape.values(event)["alpha"][:, 0]
        row = int(alpha.argmin())
        if not alpha[row] < 1:
            return Frame(start, stop, "stays", keys)
        asks = float(alpha[row]) if alpha[row] > 0 else None
        return Frame(start, stop, "grows", (rows[0] + row, float(alpha[row])), asks)

    def _operation(self, start: int, stop: int, step: str) -> Frame:
        phase = self.tape.phases[self.c["phase"][start]]
        size = float(self.c["bytes"][start:stop].sum())
        if step in ("load_q", "load_kv", "load_o"):
            name = {"load_q": "Q", "load_kv": "K", "load_o": "O"}[step]
            name = "O_parts" if phase == "merge" else name
            return Frame(start, stop, f"{step}_{phase}", (*self._span(start, stop, name), size))
        if step == "update":
            return self._update(start, stop)
        if step == "delta":
            return Frame(start, stop, *self._delta(start, stop))
        if step == "store" and phase == "split":
            return self._stored(start, stop)
        if step == "store":
            return Frame(start, stop, "stored" if phase in ("forward", "split") else f"store_{phase}",
                         self._box(start))  # fmt: skip
        if step == "merge":
            return Frame(start, stop, "merge", self._box(start))
        shown = {"scores": "s", "recompute": "p", "mask": "s", "grad_p": "dp", "grad_s": "ds"}
        rows, keys = self._span(start, stop, "Q"), self._span(start, stop, "K")
        count = (rows[1] - rows[0] + 1) * (keys[1] - keys[0] + 1)
        if step == "mask":
            return Frame(start, stop, "mask", (float(self._hidden(rows, keys)), count))
        event = self._last(start, stop, shown.get(step, ""))
        if step == "scores" and event is not None:
            largest = float(self.tape.values(event)["s"].max())
            return Frame(start, stop, "scores", (count, largest))
        return Frame(start, stop, "scores_plain" if step == "scores" else step, (count,))

    def _stored(self, start: int, stop: int) -> Frame:
        """What a program leaves: a finished row tile, or one split of it."""
        if self.tape.tensors[self.c["tensor"][start]] == "O":
            return Frame(start, stop, "stored", self._box(start))
        box = self.c["box"][start]
        return Frame(start, stop, "split_stored", (float(box[2]), float(self.tape.splits)))

    def _delta(self, start: int, stop: int) -> tuple[str, tuple[float, ...]]:
        rows = self._span(start, stop, "O")
        return "delta", rows

    def _hidden(self, rows: tuple[float, ...], keys: tuple[float, ...]) -> int:
        """Pairs of a tile that the mask hides."""
        problem = self.tape.problem
        return sum(
            not problem.sees(row, key)
            for row in range(int(rows[0]), int(rows[1]) + 1)
            for key in range(int(keys[0]), int(keys[1]) + 1)
        )

    def _last(self, start: int, stop: int, name: str) -> int | None:
        """The last event of a range that left numbers of this name."""
        for event in range(stop - 1, start - 1, -1):
            entries = self.c["value_name"][
                self.c["value_at"][event] : self.c["value_at"][event + 1]
            ]
            if any(self.tape.names[n] == name for n in entries):
                return event
        return None

    def _box(self, event: int) -> tuple[float, ...]:
        a, b = self.c["box"][event][:2]
        return float(a), float(b - 1)

    def _span(self, start: int, stop: int, tensor: str) -> tuple[float, ...]:
        """First and last row of a tensor that is on chip: loaded last, in this program."""
        for event in range(stop - 1, -1, -1):
            kind, box = self.c["kind"][event], self.c["box"][event]
            if kind == 2 and event >= start and tensor in "QK" and box[3] > box[2]:
                a, b = box[:2] if tensor == "Q" else box[2:]
                return float(a), float(b - 1)
            if kind != 2 and self.tape.tensors[self.c["tensor"][event]] == tensor:
                return self._box(event)
        return 0.0, -1.0
