"""What was answered so far, chapter by chapter. Data and its plain text; reads no file."""

from __future__ import annotations

from dataclasses import dataclass

from ..language import Text, say

_NONE = Text("Nothing answered yet.", "还没有作答。")
_LINE = Text(
    "chapter {chapter:02d}  {questions} questions, mean {mean:.0f}  ·  {passed} exercises passed",
    "第 {chapter:02d} 章  答题 {questions} 道，平均 {mean:.0f} 分  ·  通过练习 {passed} 个",
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


@dataclass(frozen=True)
class Summary:
    """All chapters in which something was answered."""

    chapters: tuple[ChapterSummary, ...] = ()

    def __str__(self) -> str:
        if not self.chapters:
            return say(_NONE)
        return "\n".join(
            say(_LINE, chapter=c.chapter, questions=c.questions, mean=c.mean, passed=c.passed)
            for c in self.chapters
        )
