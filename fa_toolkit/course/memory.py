"""What the learner did, as the course counts it: the store's answers, by chapter."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import __version__, exercises
from ..errors import FaError
from ..language import current
from .chapters import TITLES

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Standing:
    """One chapter: questions answered and exercises passed, each of how many."""

    chapter: int
    answered: int
    questions: int
    passed: int
    exercises: int

    @property
    def done(self) -> int:
        """Everything done."""
        return self.answered + self.passed

    @property
    def total(self) -> int:
        """Everything there is."""
        return self.questions + self.exercises


def store() -> Any:
    """The learner's store."""
    from ..progress import store

    return store()


def standings() -> list[Standing]:
    """All chapters. A store that cannot be read counts as empty and is named in the log."""
    from ..quiz import load_bank

    asked_in, found = load_bank().chapters, []
    for number in TITLES:
        latest = _latest(number)
        asked = {q.id for q in asked_in[number].questions} if number in asked_in else set()
        set_ = exercises.ids(number)
        found.append(
            Standing(
                number,
                sum(item in latest for item in asked),
                len(asked),
                sum(passed(latest.get(item)) for item in set_),
                len(set_),
            )
        )
    return found


def _latest(chapter: int) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = store().latest(chapter)
    except (FaError, OSError) as error:
        logger.info("progress cannot be read: %s", error)
        return {}
    return found


def passed(answer: Any) -> bool:
    """Whether the answer kept of an exercise is a pass of the learner's own."""
    return isinstance(answer, Mapping) and answer.get("outcome") == "passed"


#: Outcomes of an exercise whose solution was shown before it passed; neither counts as passed.
SHOWN, HELPED = "solution shown", "passed after the solution"


def record_solution(exercise_id: str) -> None:
    """Keep that the solution was shown, unless the exercise had been passed before."""
    chapter = exercises.get(exercise_id).chapter
    if passed(_latest(chapter).get(exercise_id)):
        return
    store().record(_attempt(exercise_id, SHOWN, (), 0))


def solution_was_shown(exercise_id: str) -> bool:
    """Whether it was, before a pass of one's own."""
    latest = _latest(exercises.get(exercise_id).chapter).get(exercise_id)
    return isinstance(latest, Mapping) and bool(latest.get("shown"))


def record_report(report: exercises.Report) -> None:
    """Keep the outcome of a check. What was not attempted is not kept; nor is a pass ever lost.

    A pass after the solution was shown is kept as such and does not count as passed.
    """
    if report.outcome == "not attempted":
        return
    chapter = exercises.get(report.exercise).chapter
    if report.outcome != "passed" and passed(_latest(chapter).get(report.exercise)):
        return
    held = sum(item.status == "held" for item in report.findings)
    score = round(100 * held / max(1, len(report.findings)))
    shown = solution_was_shown(report.exercise)
    outcome = HELPED if shown and report.outcome == "passed" else report.outcome
    store().record(_attempt(report.exercise, outcome, report.failed, score, shown=shown))


def _attempt(
    exercise_id: str, outcome: str, failed: Sequence[str], score: int, *, shown: bool = True
) -> dict[str, Any]:
    answer = {"outcome": outcome, "failed": list(failed)} | ({"shown": True} if shown else {})
    return {
        "item": exercise_id,
        "kind": "exercise",
        "chapter": exercises.get(exercise_id).chapter,
        "lang": current(),
        "answer": answer,
        "score": score,
        "outcome": outcome,
        "version": __version__,
    }
