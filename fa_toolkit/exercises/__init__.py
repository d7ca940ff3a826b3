"""Exercises: what to write, whether it is right, which mistake it is, and help in steps.

Shows nothing and records nothing; `course` does both.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError, UnknownNameError
from ..language import Text
from . import cells, hints
from .catalog import EXERCISES
from .client import check as _check
from .client import stop, warm
from .hints import LEVELS
from .report import Departure, Diagnosis, Finding, Report, Warning
from .spec import Exercise

__all__ = [
    "LEVELS",
    "Departure",
    "Diagnosis",
    "Exercise",
    "Finding",
    "Report",
    "Warning",
    "check",
    "get",
    "hint",
    "ids",
    "solution",
    "solved",
    "stop",
    "stub",
    "warm",
]


def ids(chapter: int | None = None) -> list[str]:
    """Ids of all exercises, or of one chapter, in the order of the course."""
    return [x.id for x in EXERCISES.values() if chapter is None or x.chapter == chapter]


def get(exercise_id: str) -> Exercise:
    """The exercise with this id.

    Raises:
        UnknownNameError: if there is none; the hint lists near ones.
    """
    if not isinstance(exercise_id, str) or exercise_id not in EXERCISES:
        near = difflib.get_close_matches(str(exercise_id), EXERCISES, n=3, cutoff=0.3)
        raise UnknownNameError(
            "exercise_id",
            expected=Text("the id of an exercise", "练习的编号"),
            got=repr(exercise_id),
            hint=", ".join(near or EXERCISES),
        )
    return EXERCISES[exercise_id]


def check(exercise_id: str, fn: Callable[..., Any]) -> Report:
    """Whether `fn` solves the exercise, which properties fail, and why.

    The function is passed itself, not its name. Its source, and what it uses of yours, go to a
    process of its own with limits of time and memory, from which only plain data comes back: an
    endless loop, a crash or exhausted memory is a sentence in the report. The first check starts
    that process and takes some seconds more.

    Raises:
        UnknownNameError: if there is no such exercise.

    Example:
        >>> def three_pass_softmax(x):
        ...     return (x - x.max()).exp()
        >>> report = check("03.three_pass", three_pass_softmax)
        >>> report.outcome, report.diagnosis[0].id
        ('not yet', 'not-normalised')
    """
    return _check(get(exercise_id), fn)


def hint(exercise_id: str, level: int = 1, report: Report | None = None) -> str:
    """Hint 1 (what fails, and where), 2 (the invariant), 3 (the mistake) or 4 (lines with blanks).

    Args:
        report: of the last check, which says what fails and which mistake it is.

    Raises:
        ArgumentError: if the level is not 1, 2, 3 or 4.
    """
    if level not in range(1, LEVELS + 1):
        raise ArgumentError("level", expected=f"1..{LEVELS}", got=repr(level))
    return hints.hint(get(exercise_id), level, report)


def stub(exercise_id: str, lang: str | None = None) -> str:
    """The cell of the notebook as it first stands, made from the solution.

    Args:
        lang: "en" or "zh", the language of the comments that say what to do; that in force if None.
    """
    return cells.stub(get(exercise_id).id, lang)


def solved(exercise_id: str) -> str:
    """The same cell, solved."""
    return cells.solved(get(exercise_id).id)


def solution(exercise_id: str) -> Callable[..., Any]:
    """The package's own solution, as a function."""
    exercise = get(exercise_id)
    found: Callable[..., Any] = cells.solution_of(exercise.id, exercise.entry)
    return found
