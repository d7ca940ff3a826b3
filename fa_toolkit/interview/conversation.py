"""One interview as state: what was asked, what was answered, how much time is left. Draws nothing."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from .. import __version__
from ..errors import FaError
from ..language import Language, Text, check, current, say, using
from ..quiz.bank import Bank, load_bank
from ..quiz.grading import grade
from ..quiz.models import Question
from ..quiz.session import Attempt, detail
from ..quiz.verdict import Verdict
from . import choosing
from .plan import Plan
from .report import report
from .turn import Turn

Phase = Literal["choose", "asking", "report"]
#: no new question is begun with less time than this, in seconds
TOO_LATE = 20.0

_NOT_SAVED = Text("This could not be saved: {reason}", "没能保存：{reason}")


class Interview:
    """A mock interview.

    Args:
        lang: the language to begin in; the language in force if None.
        bank: a bank of your own.
        seed: interviews of different seeds ask differently; the same seed and answers, the same.
        weak: readiness by topic, so that weaker topics come first.
        opened: numbers of the chapters the candidate has opened: what is asked unless the plan
            says otherwise.
        learner: whoever answers; decides the order of options.
        record: called with every first answer to a question, as a quiz does.
        keep: called with a name, the report so far, and whether the interview is over.
        clock: seconds that only ever grow; a changed system clock changes nothing.
        now: the present, for the date of the report.
    """

    def __init__(
        self,
        *,
        lang: str | None = None,
        bank: Bank | None = None,
        seed: str = "",
        weak: Mapping[str, float] | None = None,
        opened: Iterable[int] = (),
        learner: str = "",
        record: Callable[[Attempt], object] | None = None,
        keep: Callable[..., object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.lang: Language = current() if lang is None else check(lang)
        self.bank = load_bank() if bank is None else bank
        self.seed, self.weak, self.learner = seed, dict(weak or {}), learner
        self._record, self._keep, self._clock, self._now = record, keep, clock, now
        self.opened = tuple(sorted(set(opened)))
        self.plan = Plan(chapters=self.opened)
        self._clear()

    def _clear(self) -> None:
        self.phase: Phase = "choose"
        self.turns: list[Turn] = []
        self.turn: Turn | None = None
        self.note, self.name = "", uuid.uuid4().hex
        self.at: datetime = self._now()
        self._begun = self._turn_begun = self._ended = 0.0

    @property
    def question(self) -> Question:
        """The question in front; only while there is one."""
        assert self.turn is not None
        return self.turn.question

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning, to the end once there is one."""
        if self.phase == "choose":
            return 0.0
        return (self._ended if self.phase == "report" else self._clock()) - self._begun

    @property
    def left(self) -> float:
        """Seconds that remain; negative once the time is up."""
        return self.plan.minutes * 60 - self.elapsed

    def start(self, plan: Plan) -> None:
        """Begin; an interview that was going on is over and forgotten.

        Raises:
            UnknownNameError, ArgumentError: if the bank cannot serve the plan.
        """
        plan = plan.fitting(self.bank)
        plan.check(self.bank)
        self._clear()
        self.plan, self.phase = plan, "asking"
        self._begun = self._clock()
        self._next()

    def answer(self, answer: Any) -> bool:
        """Take an answer to the question in front and go on; False, with a note, if it cannot be read.

        No verdict is given. After the time is up the answer still counts and nothing more is asked.
        """
        if self.turn is None:
            return False
        verdict = self._graded(self.turn, answer)
        if not verdict.judged:
            self.note = verdict.note
            return False
        self.turn.answer, self.turn.verdict = answer, verdict
        self._go_on()
        return True

    def skip(self) -> None:
        """Let the question in front pass; it counts as not answered."""
        if self.turn is not None:
            self.turn.passed = True
            self._go_on()

    def finish(self) -> None:
        """End now; the question in front, not being answered, does not count."""
        if self.phase == "asking":
            self._end()

    def again(self) -> None:
        """Back to the choice, for another interview."""
        if self.phase == "report":
            plan = self.plan
            self._clear()
            self.plan = plan

    def speak(self, lang: str) -> None:
        """Go on in the other language; answers are judged again in it."""
        self.lang, self.note = check(lang), ""
        for turn in self.turns:
            if turn.verdict is not None:
                turn.verdict = self._graded(turn, turn.answer)

    def report(self) -> dict[str, Any]:
        """What was said, missed and wrong so far, as plain data in the interview's language."""
        return report(self)

    def _graded(self, turn: Turn, answer: Any) -> Verdict:
        try:
            return grade(turn.question.id, answer, self.lang, bank=self.bank)
        except FaError as error:  # a key that cannot be computed here, never the answer's fault
            return Verdict(turn.question.id, self.lang, "unreadable", note=str(error))

    def _go_on(self) -> None:
        turn = self.turn
        assert turn is not None
        turn.seconds = self._clock() - self._turn_begun
        self.note = ""
        self.turns.append(turn)
        if turn.verdict is not None and not turn.probe:
            self._remember(turn)
        self._save(finished=False)
        if self.left < TOO_LATE:
            self._end()
        else:
            self._next()

    def _next(self) -> None:
        self.turn = choosing.follow_up(self.turns, self.bank, self.plan)
        if self.turn is None:
            question = choosing.next_subject(
                self.turns, self.plan, self.bank, left=self.left, seed=self.seed, weak=self.weak
            )
            self.turn = None if question is None else Turn(question)
        self._turn_begun = self._clock()
        if self.turn is None:
            self._end()

    def _end(self) -> None:
        self._ended = self._clock()
        self.phase, self.turn = "report", None
        self._save(finished=True)

    def _remember(self, turn: Turn) -> None:
        """The first answer only: what is said when probed has had a hint."""
        verdict = turn.verdict
        if self._record is None or verdict is None:
            return
        attempt = Attempt(
            item=turn.question.id,
            kind="quiz",
            chapter=self.bank.chapter_of(turn.question.id).number,
            lang=self.lang,
            answer=turn.answer,
            score=verdict.score,
            outcome=verdict.outcome,
            version=__version__,
            detail=detail(verdict, interview=self.name, seconds=round(turn.seconds)),
        )
        self._guarded(lambda: self._record(attempt))  # type: ignore[misc]

    def _save(self, *, finished: bool) -> None:
        if self._keep is not None and self.turns:
            keep = self._keep
            self._guarded(lambda: keep(self.name, self.report(), finished=finished))

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:  # the interview goes on where storage fails
            with using(self.lang):
                self.note = say(_NOT_SAVED, reason=str(error))
