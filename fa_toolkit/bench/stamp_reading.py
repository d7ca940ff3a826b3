"""What the stamps of a kernel say: steps, their medians, and the ones of a program to be shown."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..errors import ArgumentError
from ..language import Text
from ..measured.timeline import CONSUMER, PRODUCER, Stamps, Timeline
from ..problem import AttentionProblem
from .stamps import EVENTS, ROWS

SHOWN = 8  # tiles of keys of the program that is shown
_NAMES = {number: name for name, number in EVENTS.items()}
_WRAP = 1 << 32  # the clock has 32 bits


@dataclass(frozen=True)
class Step:
    """The stamps of one role for one tile of keys.

    Args:
        turn: which tile of rows of its program; -1 for a producer, who does not say.
        tile: of a consumer counted in its rows from 0, whose scores are made before its steps; of
            the producer the slots filled so far.
    """

    turn: int
    tile: int
    clocks: Mapping[str, int]


Steps = Sequence[Step]
Roles = Sequence[Mapping[int, Step]]  # of one program, groups first: slots filled before -> step


def steps_of(words: Sequence[Sequence[int]]) -> list[Step]:
    """(event, clock) of one role as steps; events 0 were not written, and a last part is left out.

    Raises:
        ValueError: if events stand in another order than a role's.
    """
    stamped = [(_NAMES[event], clock % _WRAP) for event, clock in words if event]
    found: list[Step] = []
    turn, tile, at = -1, 0, 0
    while at < len(stamped):
        name = stamped[at][0]
        if name == ROWS:
            turn, tile, at = turn + 1, 1, at + 1
            continue
        order = PRODUCER if name == PRODUCER[0] else CONSUMER
        part = stamped[at : at + len(order)]
        names = tuple(each for each, _ in part)
        if names != order[: len(names)]:
            raise ValueError(f"stamps out of order: {names}")
        if len(part) == len(order):
            found.append(Step(turn, tile, dict(part)))
        tile, at = tile + 1, at + len(order)
    return found


def rows_of(
    problem: AttentionProblem,
    seen: Sequence[Sequence[Steps]],
    *,
    plain_ms: float,
    stamped_ms: float,
) -> dict[str, tuple[Any, ...]]:
    """The rows of a run: medians over all programs, and the steps of the most usual of them.

    Args:
        seen: the steps of each role of each program, groups first, the producer last.

    Raises:
        ArgumentError: if no program has enough steps to show.
    """
    programs = [numbered(roles) for roles in seen]
    between = _between(seen)
    usual = statistics.median(between["step"])
    windows = {at: slots for at, roles in enumerate(programs) if (slots := _window(roles[0]))}
    if not windows:
        raise ArgumentError(
            "N",
            expected=Text(
                f"programs with a second tile of rows and {SHOWN + 2} tiles of keys",
                f"每个程序实例要有第二块行，并有 {SHOWN + 2} 块 key",
            ),
            got=str(problem.len_k),
            hint="--lengths 4096",
        )
    shown = min(windows, key=lambda at: abs(_pace(programs[at][0], windows[at]) - usual))
    timeline = Timeline(
        problem, plain_ms, stamped_ms, len(seen), len(between["step"]),
        {name: statistics.median(values) for name, values in between.items()},
        _skew(programs), shown,
    )  # fmt: skip
    rows = tuple(_shown(problem, programs[shown], windows[shown]))
    return {"timelines": (timeline,), "stamps": rows}


def numbered(roles: Sequence[Steps]) -> list[dict[int, Step]]:
    """The steps of each role by the slots filled before: there a step's keys are."""
    *groups, producer = roles
    found: list[dict[int, Step]] = []
    for steps in groups:
        # slots filled before a turn: in each turn one for every step and one before them
        first = [0]
        for turn in range(max((step.turn for step in steps), default=0)):
            first.append(first[-1] + 1 + sum(step.turn == turn for step in steps))
        found.append({first[step.turn] + step.tile: step for step in steps})
    return [*found, {step.tile: step for step in producer}]


def since(later: int, earlier: int) -> int:
    """Clocks from one stamp to another; the clock wraps, and the other may be a little earlier."""
    return (later - earlier + _WRAP // 2) % _WRAP - _WRAP // 2


def _between(seen: Sequence[Sequence[Steps]]) -> dict[str, list[int]]:
    """Clocks since the event before, of every step of all programs; "step": from begun to begun."""
    found: dict[str, list[int]] = {}
    for steps in (steps for roles in seen for steps in roles):
        for step, following in pairwise(steps):
            for (_, before), (name, now) in pairwise(step.clocks.items()):
                found.setdefault(name, []).append(since(now, before))
            if step.turn == following.turn:
                first, *_, last = step.clocks
                again = following.clocks[first]
                found.setdefault(first, []).append(since(again, step.clocks[last]))
                if first == CONSUMER[0]:
                    found.setdefault("step", []).append(since(again, step.clocks[first]))
    return found


def _skew(programs: Sequence[Roles]) -> dict[str, int]:
    """The least clocks from what must be first in one role to what must follow in another."""
    turns, fills = [], []
    for *groups, producer in programs:
        for at, group in enumerate(groups):
            after = groups[(at + 1) % len(groups)]
            for slot, step in group.items():
                follows = after.get(slot if at + 1 < len(groups) else slot + 1)
                if follows is not None and follows.turn == step.turn:
                    turns.append(since(follows.clocks["turn"], step.clocks["issued"]))
                if slot + 1 in producer:
                    arrived = producer[slot + 1].clocks["arrived"]
                    fills.append(since(step.clocks["filled"], arrived))
    return {"turn": min(turns, default=0), "filled": min(fills, default=0)}


def _window(steps: Mapping[int, Step]) -> list[int]:
    """SHOWN slots in the middle of the first tile of rows that has so many; never of the very first."""
    turns: dict[int, list[int]] = {}
    for slot, step in steps.items():
        turns.setdefault(step.turn, []).append(slot)
    for turn, slots in sorted(turns.items()):
        if turn and len(slots) > SHOWN:
            start = (len(slots) - SHOWN) // 2
            return slots[start : start + SHOWN]
    return []


def _pace(steps: Mapping[int, Step], slots: Sequence[int]) -> float:
    """Clocks of a step, on average over the slots."""
    begun = [steps[slot].clocks["begun"] for slot in slots]
    return since(begun[-1], begun[0]) / (len(slots) - 1)


def _shown(problem: AttentionProblem, roles: Roles, slots: Sequence[int]) -> Iterator[Stamps]:
    """The steps of these slots and what the producer did meanwhile, from the first stamp of a group."""
    *groups, producer = roles
    origin = min(
        (group[slots[0]].clocks["begun"] for group in groups),
        key=lambda c: since(c, groups[0][slots[0]].clocks["begun"]),
    )
    base = groups[0][slots[0]].tile - slots[0]

    def moved(step: Step) -> dict[str, int]:
        return {name: since(clock, origin) for name, clock in step.clocks.items()}

    end = max(max(moved(group[slots[-1]]).values()) for group in groups)
    for slot, step in producer.items():
        clocks = moved(step)
        if clocks["arrived"] > 0 and clocks["asked"] < end:
            yield Stamps(problem, "producer", slot + base, clocks)
    for at, group in enumerate(groups):
        for slot in slots:
            yield Stamps(problem, f"group {at}", group[slot].tile, moved(group[slot]))
