"""Rows of a run that watched one kernel inside: when each role of a program did what.

Times are clocks of the program's multiprocessor, all roles by the same one. What was stamped and
what is concluded from it are kept apart: `Stamps` holds the first, `spans` makes the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..problem import AttentionProblem

#: the events of a consumer's step over one tile of keys, in order: it begins; it asks for its turn;
#: both products are issued; its scores are done; p is; the next slot was seen full; P V is seen done.
#: "turn" is read right behind the barrier, which does not always hold the reading up: see `Timeline.skew`
CONSUMER = ("begun", "turn", "issued", "scores", "exponentials", "filled", "values")
#: the events of the producer for one slot: it was seen empty; copies are asked for; they arrived
PRODUCER = ("empty", "asked", "arrived")
Stage = Literal["copy", "scores", "exponentials", "values"]


@dataclass(frozen=True)
class Timeline:
    """The Hopper forward with stamps in it, on one case.

    Args:
        plain_ms, stamped_ms: median time of a call as shipped, and of one with stamps.
        programs, steps: how many programs and steps the medians are over.
        clocks: event -> median clocks since the event before it in the same role; "step": from one
            "begun" to the next.
        skew: the fewest clocks from one role's stamp to another's that must follow. "filled": from
            a copy's arrival until a group sees the slot full; below 0 by what the producer needs to
            wake up. "turn": from a group's passing on of its turn to the other's "turn"; far below
            0 on an H200, as if the barrier did not hold the reading up, so no stage rests on it.
        program: the one that `Stamps` show: its steps take what they take most often.
    """

    problem: AttentionProblem
    plain_ms: float
    stamped_ms: float
    programs: int
    steps: int
    clocks: Mapping[str, float] = field(hash=False)
    skew: Mapping[str, int] = field(hash=False)
    program: int
    run: str = ""

    @property
    def slowdown(self) -> float:
        """Part of its time by which stamps lengthen a call."""
        return self.stamped_ms / self.plain_ms - 1


@dataclass(frozen=True)
class Stamps:
    """What one role did for one tile of keys: event -> clock, from the first of the tiles shown.

    Args:
        role: "producer", "group 0", "group 1".
        tile: of keys in the order they are taken; the producer's slot holds its K and V of the tile before.
    """

    problem: AttentionProblem
    role: str
    tile: int
    clocks: Mapping[str, int] = field(hash=False)
    run: str = ""


@dataclass(frozen=True)
class Span:
    """One stage of one role from clock to clock; `latest`: it ended by then, maybe before."""

    role: str
    stage: Stage
    tile: int
    begin: int
    end: int
    latest: bool = False


#: stage -> events it lies between, and whether its end is only seen when the role looks
_STAGES: Mapping[Stage, tuple[str, str, bool]] = {
    "copy": ("asked", "arrived", False),
    "scores": ("begun", "scores", False),
    "exponentials": ("scores", "exponentials", False),
    "values": ("scores", "values", True),
}


def spans(rows: Iterable[Stamps]) -> list[Span]:
    """The stages that follow from stamps, role by role.

    S lasts from when its group is ready until it is there, a wait for the turn or for the tensor
    cores included. P V comes behind it: when that ends is seen only by who waits for it, after the
    exponentials.

    Example:
        >>> row = Stamps(AttentionProblem(), "producer", 3, {"empty": 0, "asked": 20, "arrived": 900})
        >>> [(span.stage, span.begin, span.end) for span in spans([row])]
        [('copy', 20, 900)]
    """
    return [
        Span(row.role, stage, row.tile, row.clocks[first], row.clocks[last], latest)
        for row in rows
        for stage, (first, last, latest) in _STAGES.items()
        if first in row.clocks and last in row.clocks
    ]
