"""Spaced review: which questions are due, by the FSRS model of forgetting.

Nothing of a schedule is stored. The log of answers is replayed, so that two kernels, an import or a
new version of the model can never leave a card in a state that no answer led to.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from typing import TYPE_CHECKING

from ..errors import BackendUnavailable
from ..language import Text
from .deadline import brought_forward
from .rows import Attempt, new_attempt
from .times import EPOCH, Timed, evidence, local_date

if TYPE_CHECKING:
    from fsrs import Card, Scheduler

#: below PASS an answer counts as forgotten, from FIRM on as known; between them as hard
PASS, FIRM = 60, 85
#: how likely it is to be still known on the day it is asked again
RETENTION = 0.9
MOST_DAYS = 365
AGAIN, HARD, GOOD = 1, 2, 3


@dataclass(frozen=True)
class Review:
    """One question that is, or will be, due.

    Args:
        due: when it should be asked again, UTC.
        recall: how likely the learner still knows it, 0..1.
        times: how many answers the schedule rests on.
    """

    item: str
    due: datetime
    recall: float
    times: int


@dataclass(frozen=True)
class State:
    """What was known of one question after one answer."""

    when: datetime
    attempt: Attempt
    card: Card


def rating(attempt: Attempt) -> int:
    """Again, hard or good. A fatal misconception is "again" whatever the score.

    An answer that the grader was not sure of is at best hard. "I did say this" plays no part.
    """
    if attempt.fatal or attempt.score < PASS:
        return AGAIN
    return HARD if attempt.score < FIRM or attempt.outcome == "unsure" else GOOD


class Schedule:
    """The schedule that follows from a log of answers.

    Args:
        timed: attempts with believable times, oldest first, as `settle` gives them.
        now: the present, UTC.
        zone: where the learner is; the system's own zone if None. What is due on a day is due from
            its midnight there.
        interview: the day of an interview; what would be due after its eve comes back before.
    """

    def __init__(
        self,
        timed: Iterable[Timed],
        now: datetime,
        zone: tzinfo | None = None,
        interview: date | None = None,
    ) -> None:
        self.now, self.zone, self.interview = now, zone, interview
        self.timed = tuple(timed)
        self.states: dict[str, list[State]] = {}
        scheduler = model()
        from fsrs import Card, Rating

        for attempt, when in evidence(self.timed):
            if attempt.kind != "quiz":
                continue
            known = self.states.setdefault(attempt.item, [])
            before = known[-1].card if known else Card(card_id=0, due=when)
            card, _ = scheduler.review_card(before, Rating(rating(attempt)), when.astimezone(UTC))
            known.append(State(when, attempt, card))

    def reviews(self) -> list[Review]:
        """Every question that was answered, those likeliest to be forgotten first."""
        found = [
            Review(item, known[-1].card.due, recall(known[-1], self.now), len(known))
            for item, known in self.states.items()
        ]
        if self.interview is not None:
            last = {item: known[-1].when for item, known in self.states.items()}
            found = brought_forward(found, last, self.interview, self.now, self.zone)
        return sorted(found, key=lambda review: (review.recall, review.due, review.item))

    def due(self, items: Sequence[str] | None = None) -> list[Review]:
        """What is due now, of some items or all."""
        return [
            review
            for review in self.reviews()
            if (items is None or review.item in items) and self.is_due(review)
        ]

    def is_due(self, review: Review) -> bool:
        """Whether the learner's day on which it is due has begun."""
        return local_date(review.due, self.zone) <= local_date(self.now, self.zone)

    def next_due(self) -> datetime | None:
        """When the next question that is not due yet will be."""
        return min((r.due for r in self.reviews() if not self.is_due(r)), default=None)


def recall(state: State, at: datetime) -> float:
    """How likely what an answer showed is still known at a later time."""
    return float(model().get_card_retrievability(state.card, at.astimezone(UTC)))


def gaps(scores: Sequence[float]) -> list[int]:
    """Days until a question comes back after each answer, each given on the day it was due.

    Example:
        >>> short, longer, longest = gaps([100, 100, 100])
        >>> short < longer < longest
        True
    """
    day, log, found = EPOCH, list[Timed](), []
    for score in scores:
        given = {"item": "q", "kind": "quiz", "chapter": 0, "answer": "", "outcome": ""}
        log.append(Timed(new_attempt({**given, "score": score}), day))
        due = Schedule(log, day, UTC).reviews()[0].due
        found.append((due - day).days)
        day = due
    return found


@functools.cache
def model() -> Scheduler:
    """FSRS with its published parameters, without random noise.

    Raises:
        BackendUnavailable: if the fsrs package is not installed.
    """
    try:
        from fsrs import Scheduler
    except ImportError as error:
        raise BackendUnavailable(
            "review",
            expected=Text("the package fsrs", "软件包 fsrs"),
            got=Text("it is not installed", "没有安装"),
            hint='pip install ".[course]"',
        ) from error
    return Scheduler(
        desired_retention=RETENTION,
        learning_steps=(),  # nothing comes back the same day: that would test the feedback
        relearning_steps=(),
        maximum_interval=MOST_DAYS,
        enable_fuzzing=False,
    )
