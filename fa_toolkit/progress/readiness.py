"""How ready the learner is, topic by topic, and how that came about. Knows no question: topics and
their questions are handed in.

A topic's readiness is the mean of (score × how likely it is still known) over the questions that
were answered, times the part of the topic that they cover. A fatal misconception blocks "ready"
whatever the number says, until the question is answered without it on a later day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from .schedule import PASS, Schedule, State, recall

Standing = Literal["unseen", "under way", "ready", "blocked"]

READY = 80
#: so many questions of a topic show enough of it, if it has that many
ENOUGH = 5
#: reading the correction and saying it back at once shows nothing
LATER = timedelta(hours=12)
SAMPLES = 60


@dataclass(frozen=True)
class Block:
    """A fatal misconception that still stands."""

    item: str
    misconception: str
    since: datetime


@dataclass(frozen=True)
class Topic:
    """One topic.

    Args:
        score: readiness, 0..100.
        answered: how many of its questions have been answered, of `questions`.
        needed: how many must have been, for the number to count in full.
        history: readiness at times from the first answer to the present.
    """

    name: str
    standing: Standing
    score: int
    answered: int
    questions: int
    needed: int
    blocks: tuple[Block, ...] = ()
    history: tuple[tuple[datetime, float], ...] = ()


def readiness(schedule: Schedule, topics: Mapping[str, Sequence[str]]) -> list[Topic]:
    """Every topic's readiness.

    Args:
        topics: the ids of the questions of each.
    """
    moments = _moments(schedule)
    return [_topic(name, items, schedule, moments) for name, items in topics.items()]


def _topic(
    name: str, items: Sequence[str], schedule: Schedule, moments: Sequence[datetime]
) -> Topic:
    states = {item: schedule.states[item] for item in items if item in schedule.states}
    needed = min(ENOUGH, len(items))
    score = round(_score(states, needed, schedule.now))
    blocks = tuple(block for item in states for block in _blocks(states[item], schedule.now))
    standing: Standing = "under way"
    if blocks:
        standing = "blocked"
    elif not states:
        standing = "unseen"
    elif score >= READY:
        standing = "ready"
    first = min((known[0].when for known in states.values()), default=None)
    history = tuple(
        (at, _score(states, needed, at)) for at in moments if first is not None and at >= first
    )
    return Topic(name, standing, score, len(states), len(items), needed, blocks, history)


def _score(states: Mapping[str, Sequence[State]], needed: int, at: datetime) -> float:
    """Readiness at a time, from what had been answered by then."""
    known = []
    for history in states.values():
        last = next((state for state in reversed(history) if state.when <= at), None)
        if last is not None:
            known.append(last.attempt.score * recall(last, at))
    if not known:
        return 0.0
    return sum(known) / len(known) * min(1.0, len(known) / needed)


def _blocks(history: Sequence[State], now: datetime) -> list[Block]:
    """The fatal misconceptions of one question that no later answer has put right."""
    standing: dict[str, datetime] = {}
    for state in history:
        attempt = state.attempt
        if state.when > now:
            break
        if attempt.fatal:
            standing |= dict.fromkeys(attempt.fatal, state.when)
        elif attempt.score >= PASS and attempt.outcome != "unsure":
            standing = {n: since for n, since in standing.items() if state.when - since < LATER}
    item = history[0].attempt.item
    return [Block(item, name, since) for name, since in standing.items()]


def _moments(schedule: Schedule) -> list[datetime]:
    """Times to look at: evenly spread, and right after every answer."""
    answers = sorted(state.when for known in schedule.states.values() for state in known)
    if not answers:
        return []
    span = (schedule.now - answers[0]) / SAMPLES
    even = [answers[0] + span * n for n in range(SAMPLES)]
    return sorted({*even, *answers, schedule.now})
