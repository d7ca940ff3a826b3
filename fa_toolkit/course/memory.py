"""What the learner did, as the course counts it: the store's answers, by chapter."""

from __future__ import annotations

import logging
from collections.abc import Mapping
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
                sum(_passed(latest.get(item)) for item in set_),
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


def _passed(answer: Any) -> bool:
    return isinstance(answer, Mapping) and answer.get("outcome") == "passed"


def record_report(report: exercises.Report) -> None:
    """Keep the outcome of a check. What was not attempted is not kept; nor is a pass ever lost."""
    if report.outcome == "not attempted":
        return
    chapter = exercises.get(report.exercise).chapter
    if report.outcome != "passed" and _passed(_latest(chapter).get(report.exercise)):
        return
    held = sum(item.status == "held" for item in report.findings)
    attempt = {
        "item": report.exercise,
        "kind": "exercise",
        "chapter": chapter,
        "lang": current(),
        "answer": {"outcome": report.outcome, "failed": list(report.failed)},
        "score": round(100 * held / max(1, len(report.findings))),
        "outcome": report.outcome,
        "version": __version__,
    }
    store().record(attempt)
