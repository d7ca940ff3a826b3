"""An interview on the course's own bank with a clock of the test's and verdicts by script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from fa_toolkit.interview import Interview, conversation
from fa_toolkit.quiz import Item, Verdict, load_bank
from fa_toolkit.quiz.text_question import PENALTY, TextQuestion

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass
class Script:
    """A grader that does as it is told: `said` and `wrong` are ids, in the next verdict only."""

    said: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    score: int = 100
    status: str = "ok"
    seen: list[tuple[str, Any]] = field(default_factory=list)

    def grade(self, question_id: str, answer: Any, lang: str, *, bank: Any) -> Verdict:
        question = bank.question(question_id)
        self.seen.append((question_id, answer))
        if answer in ("", None):
            return Verdict(question_id, lang, "empty", note="write something")  # type: ignore[arg-type]
        if not isinstance(question, TextQuestion):
            wrong = () if self.score == 100 else (Item("opt", "a wrong option", why="because"),)
            return Verdict(
                question_id, lang, "ok", self.score, misconceptions=wrong, said=str(answer)  # type: ignore[arg-type]
            )

        def item(entry: Any) -> Item:
            return Item(entry.id, entry.text[lang], (0, 4), tuple(entry.claims), entry.why[lang])

        points = {point.id: point for point in question.key_points}
        ideas = {idea.id: idea for idea in question.misconceptions}
        given = sum(points[name].weight for name in self.said)
        ids = (*self.said, *self.against, *self.wrong, *self.asked)
        return Verdict(
            question_id,
            lang,  # type: ignore[arg-type]
            self.status,  # type: ignore[arg-type]
            max(0, given - PENALTY * len(self.wrong)),
            credited=tuple(item(points[n]) for n in self.said),
            missing=tuple(
                item(p) for n, p in points.items() if n not in (*self.said, *self.against)
            ),
            contradicted=tuple(item(points[n]) for n in self.against),
            misconceptions=tuple(item(ideas[n]) for n in self.wrong),
            said=str(answer),
            details={
                "quotes": {name: f"<{name}> words" for name in ids},
                "asked": [{"id": n, "text": ideas[n].text[lang]} for n in self.asked],
                "fatal": [n for n in self.wrong if ideas[n].fatal],
                "filling": False,
                "model": "model",
                "listens": "listens",
            },
        )


@dataclass
class Room:
    """The interview, its clock and its grader."""

    held: Interview
    script: Script
    time: list[float]
    recorded: list[Any]
    kept: list[tuple[str, dict[str, Any], bool]]

    def wait(self, seconds: float) -> None:
        self.time[0] += seconds

    def put(self, question_id: str) -> None:
        """Bring a certain question to the front."""
        from fa_toolkit.interview import Turn

        self.held.turn = Turn(self.held.bank.question(question_id))

    def say(self, answer: Any = "an answer", **script: Any) -> bool:
        plain = {"said": (), "against": (), "wrong": (), "asked": (), "score": 100, "status": "ok"}
        for name, value in {**plain, **script}.items():
            setattr(self.script, name, value)
        return self.held.answer(answer)


@pytest.fixture
def enter(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Room]:
    """A function that opens a room; options go to the interview."""

    def open_room(*, real: bool = False, **options: Any) -> Room:
        script, time = Script(), [1000.0]
        recorded: list[Any] = []
        kept: list[tuple[str, dict[str, Any], bool]] = []
        if not real:
            monkeypatch.setattr(conversation, "grade", script.grade)
        defaults: dict[str, Any] = {
            "lang": "en",
            "bank": load_bank(),
            "seed": "s",
            "record": recorded.append,
            "keep": lambda name, report, *, finished: kept.append((name, report, finished)),
            "clock": lambda: time[0],
            "now": lambda: NOW,
        }
        held = Interview(**{**defaults, **options})
        return Room(held, script, time, recorded, kept)

    return open_room
