"""Where the learner stands in a chapter: what of each part is done, and what comes next.

Counts what was run, passed and answered, as the store keeps it. Shows nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import FaError
from ..progress import reading
from .memory import passed, store
from .parts import Part, parts

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PartState:
    """One part: cells run, exercises passed and questions answered, each of how many."""

    part: Part
    run: int
    passed: int
    answered: int
    questions: int
    here: bool
    unpassed: tuple[str, ...] = ()

    @property
    def countable(self) -> bool:
        """Whether there is anything to do in it; a page of prose has no such thing."""
        return bool(self.part.code or self.part.exercises or self.questions)

    @property
    def done(self) -> bool:
        """Everything run, passed and answered."""
        return (
            self.countable
            and self.run == len(self.part.code)
            and not self.unpassed
            and self.answered == self.questions
        )

    @property
    def begun(self) -> bool:
        """Anything of it done, but not all."""
        return not self.done and bool(self.run or self.passed or self.answered)


@dataclass(frozen=True)
class Work:
    """What the store holds, read once: the last answer to each item, and the last cell run."""

    latest: Mapping[str, Any]
    place: reading.Place | None

    @classmethod
    def read(cls, chapter: int | None = None) -> Work:
        """From the learner's store; one that cannot be read counts as empty and is logged."""
        try:
            kept = store()
            return cls(kept.latest(chapter), reading.place(kept, chapter))
        except (FaError, OSError) as error:
            logger.info("progress cannot be read: %s", error)
            return cls({}, None)


def states(chapter: int, work: Work | None = None) -> list[PartState]:
    """Every part of a chapter with what is done of it."""
    work = work or Work.read(chapter)
    ran = _ran(chapter)
    asked = _questions(chapter)
    place = work.place if work.place and work.place.chapter == chapter else None
    found = []
    for part in parts(chapter):
        open_ = tuple(name for name in part.exercises if not passed(work.latest.get(name)))
        found.append(
            PartState(
                part,
                run=sum(cell in ran for cell in part.code),
                passed=len(part.exercises) - len(open_),
                answered=sum(item in work.latest for item in asked) if part.quiz else 0,
                questions=len(asked) if part.quiz else 0,
                here=place is not None and place.cell in part.cells,
                unpassed=open_,
            )
        )
    return found


def _ran(chapter: int) -> frozenset[str]:
    try:
        return reading.cells(store(), chapter)
    except (FaError, OSError):
        return frozenset()


def _questions(chapter: int) -> tuple[str, ...]:
    from ..quiz import load_bank

    found = load_bank().chapters.get(chapter)
    return tuple(question.id for question in found.questions) if found else ()


def upcoming(found: list[PartState]) -> PartState | None:
    """The part to go on with: the first from here on that is not done, else the first of all."""
    here = next((at for at, state in enumerate(found) if state.here), 0)
    left = [state for state in [*found[here:], *found[:here]] if state.countable and not state.done]
    return left[0] if left else None
