"""What was answered so far, chapter by chapter. Data and its plain text; reads no file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..language import Text, say
from .rows import Attempt

_NONE = Text("Nothing answered yet.", "还没有作答。")
_CHAPTER = Text("chapter {chapter:02d}", "第 {chapter:02d} 章")
_QUESTIONS = Text(
    "questions answered: {questions}, mean {mean:.0f}", "答题 {questions} 道，平均 {mean:.0f} 分"
)
_EXERCISES = Text(
    "exercises passed: {passed} of {exercises} tried", "练习试过 {exercises} 个，通过 {passed} 个"
)


@dataclass(frozen=True)
class ChapterSummary:
    """One chapter, by the latest answer to each item.

    Args:
        questions: how many different questions were answered.
        right: how many of them scored 100.
        mean: mean score of them, 0 if there are none.
        exercises: how many different exercises were tried.
        passed: how many of them were passed at last.
        last: when the latest answer was given, UTC.
    """

    chapter: int
    questions: int = 0
    right: int = 0
    mean: float = 0.0
    exercises: int = 0
    passed: int = 0
    last: str = ""

    def __str__(self) -> str:
        parts = [say(_CHAPTER, chapter=self.chapter)]
        if self.questions:
            parts.append(say(_QUESTIONS, questions=self.questions, mean=self.mean))
        if self.exercises:
            parts.append(say(_EXERCISES, passed=self.passed, exercises=self.exercises))
        return "  ·  ".join(parts)


@dataclass(frozen=True)
class Summary:
    """All chapters in which something was answered."""

    chapters: tuple[ChapterSummary, ...] = ()

    def __str__(self) -> str:
        if not self.chapters:
            return say(_NONE)
        return "\n".join(map(str, self.chapters))


def summarise(latest: Iterable[Attempt]) -> Summary:
    """The summary of the latest attempt at each item."""
    chapters: dict[int, list[Attempt]] = {}
    for attempt in latest:
        chapters.setdefault(attempt.chapter, []).append(attempt)
    return Summary(tuple(_chapter(number, chapters[number]) for number in sorted(chapters)))


def _chapter(number: int, latest: list[Attempt]) -> ChapterSummary:
    scores = [attempt.score for attempt in latest if attempt.kind == "quiz"]
    tried = [attempt.outcome for attempt in latest if attempt.kind == "exercise"]
    return ChapterSummary(
        chapter=number,
        questions=len(scores),
        right=sum(score == 100 for score in scores),
        mean=sum(scores) / len(scores) if scores else 0.0,
        exercises=len(tried),
        passed=tried.count("passed"),
        last=max(attempt.at for attempt in latest),
    )
