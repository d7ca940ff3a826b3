"""Where one learner stands in one chapter's quiz: state only, no widget and no storage.

A session holds answers and verdicts and knows which question is in front. It is told what the
learner did and hands finished answers to `record`; `restore` gives back what was answered before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from .. import __version__
from ..errors import FaError
from ..language import Language, Text, check, current, say, using
from .bank import Bank, Chapter, load_bank
from .models import Question
from .second_tier import grade
from .verdict import Verdict


class Attempt(TypedDict):
    """One finished answer as `record` receives it; all of it can be written as JSON."""

    item: str
    kind: str
    chapter: int
    lang: str
    answer: Any
    score: int
    outcome: str
    version: str
    detail: dict[str, Any]


class SaidIt(TypedDict):
    """A point the learner holds to have made though the grader did not detect it.

    Kept apart from attempts: it never counts as mastery, but it can be exported to grow the bank.
    """

    item: str
    point: str
    lang: str
    answer: str
    version: str


Record = Callable[[Attempt], object]
Report = Callable[[SaidIt], object]
Restore = Callable[[], Mapping[str, Any]]


def detail(verdict: Verdict, **more: Any) -> dict[str, Any]:
    """What a verdict says besides its score, as it is kept: ids of points, nothing else."""
    kept: dict[str, Any] = {"status": verdict.status, **more}
    if "fatal" in verdict.details:  # a written answer
        kept["missing"] = [item.id for item in verdict.missing]
        kept["wrong"] = [item.id for item in (*verdict.contradicted, *verdict.misconceptions)]
        kept["fatal"] = list(verdict.details["fatal"])
    return kept


_NOT_SAVED = Text(
    "This answer was graded but could not be saved: {reason}",
    "这次作答已评分，但没能保存：{reason}",
)
_NOT_GRADED = Text(
    "This question cannot be graded here: {reason}", "这道题在这里没法评分：{reason}"
)


class Session:
    """A run through the questions of a chapter.

    Args:
        only: ids of questions, to ask some and not all.
        learner: whoever answers; decides the order of options.
        record: called with every answer that was judged.
        restore: called once; latest answer of each question by id.
        report: called with every point that the learner holds to have made undetected.
        title: of a run that is not a chapter's quiz; verdicts then always name the chapter to reread.
    """

    def __init__(
        self,
        chapter: int,
        *,
        lang: str | None = None,
        bank: Bank | None = None,
        only: Sequence[str] | None = None,
        learner: str = "",
        record: Record | None = None,
        restore: Restore | None = None,
        report: Report | None = None,
        title: Text | None = None,
    ) -> None:
        self.title = title
        self.lang: Language = current() if lang is None else check(lang)
        self.bank = load_bank() if bank is None else bank
        self.chapter: Chapter = self.bank.chapter(chapter)
        asked = self.chapter.questions if only is None else map(self.bank.question, only)
        self.questions: tuple[Question, ...] = tuple(asked)
        self.learner, self.position, self.note = learner, 0, ""
        self.answers: dict[str, Any] = {}
        self.verdicts: dict[str, Verdict] = {}
        self.said_it: dict[str, set[str]] = {}
        self._record, self._report = record, report
        self._restore(restore)

    def _restore(self, restore: Restore | None) -> None:
        if restore is None:
            return
        try:
            earlier = dict(restore())
        except Exception as error:  # storage of another floor must not take the quiz away
            self.note = str(error)
            return
        for question in self.questions:
            if question.id in earlier:
                verdict = self._graded(question, earlier[question.id])
                if verdict.judged:
                    self.answers[question.id] = earlier[question.id]
                    self.verdicts[question.id] = verdict
        open_ones = [at for at, q in enumerate(self.questions) if q.id not in self.verdicts]
        self.position = open_ones[0] if open_ones else 0

    def _graded(self, question: Question, answer: Any, ask: bool = False) -> Verdict:
        try:
            return grade(question.id, answer, self.lang, bank=self.bank, ask=ask)
        except FaError as error:  # a key that cannot be computed here, never the answer's fault
            with using(self.lang):
                note = say(_NOT_GRADED, reason=str(error))
            return Verdict(question.id, self.lang, "unreadable", note=note)

    @property
    def question(self) -> Question:
        """The question in front."""
        return self.questions[self.position]

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on it, if it was answered."""
        return self.verdicts.get(self.question.id)

    def go(self, position: int) -> None:
        """Bring another question to the front; beyond the ends the nearest one."""
        self.position = max(0, min(int(position), len(self.questions) - 1))
        self.note = ""

    def answer(self, answer: Any) -> Verdict:
        """Grade an answer to the question in front; keep and record it if it could be judged."""
        question = self.question
        verdict = self._graded(question, answer, ask=True)
        self.note = verdict.note
        if not verdict.judged:
            return verdict
        self.answers[question.id], self.verdicts[question.id] = answer, verdict
        if self._record is not None:
            attempt = Attempt(
                item=question.id,
                kind="quiz",
                chapter=self.bank.chapter_of(question.id).number,
                lang=self.lang,
                answer=answer,
                score=verdict.score,
                outcome=verdict.outcome,
                version=__version__,
                detail=detail(verdict),
            )
            try:
                self._record(attempt)
            except Exception as error:  # a graded answer is shown even where it cannot be kept
                with using(self.lang):
                    self.note = say(_NOT_SAVED, reason=str(error))
        return verdict

    def say_it(self, point: str) -> None:
        """Note that the learner holds to have made a point; the verdict stays as it is."""
        question, verdict = self.question, self.verdict
        if verdict is None or point not in {item.id for item in verdict.missing}:
            return
        noted = self.said_it.setdefault(question.id, set())
        if point in noted:
            return
        noted.add(point)
        if self._report is not None:
            said = SaidIt(
                item=question.id,
                point=point,
                lang=self.lang,
                answer=str(self.answers.get(question.id, "")),
                version=__version__,
            )
            try:
                self._report(said)
            except Exception as error:  # as with answers: what cannot be kept is still shown
                with using(self.lang):
                    self.note = say(_NOT_SAVED, reason=str(error))

    def retry(self) -> None:
        """Take the verdict on the question in front away, so that it can be answered again."""
        self.verdicts.pop(self.question.id, None)
        self.answers.pop(self.question.id, None)
        self.said_it.pop(self.question.id, None)
        self.note = ""

    def speak(self, lang: str) -> None:
        """Go on in the other language; verdicts are given again in it."""
        self.lang, self.note = check(lang), ""
        for question in self.questions:
            if question.id in self.answers:
                self.verdicts[question.id] = self._graded(question, self.answers[question.id])

    @property
    def points(self) -> tuple[int, int]:
        """Mean score so far (0..100, over answered questions) and how many were answered."""
        scores = [verdict.score for verdict in self.verdicts.values()]
        return (round(sum(scores) / len(scores)) if scores else 0, len(scores))
