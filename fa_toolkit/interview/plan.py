"""What the candidate chooses before an interview: minutes, topics, level, chapters. Asks nothing."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from ..errors import ArgumentError, UnknownNameError
from ..language import Text
from ..quiz.bank import Bank
from ..quiz.models import Question

Level = Literal["adaptive", "warm-up", "core", "senior"]
LEVELS: tuple[Level, ...] = get_args(Level)
#: what the card offers; any number between the bounds can be asked for
MINUTES = (10, 20, 30, 45)
FEWEST, MOST = 2, 180

#: about how long a question of each kind takes, with a follow-up now and then
SECONDS: Mapping[str, int] = {
    "choice": 60,
    "many": 75,
    "number": 100,
    "order": 75,
    "match": 90,
    "trace": 150,
    "text": 150,
}


@dataclass(frozen=True)
class Plan:
    """One interview, before it begins.

    Args:
        minutes: how long it lasts.
        topics: ids of topics; none for all.
        level: of the questions; "adaptive" begins at core and follows the answers.
        chapters: numbers of the chapters that teach what may be asked; none for all.

    Raises:
        ArgumentError: if the minutes or the level are none that can be held.
    """

    minutes: int = 20
    topics: tuple[str, ...] = ()
    level: Level = "adaptive"
    chapters: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        whole = isinstance(self.minutes, int) and not isinstance(self.minutes, bool)
        if not whole or not FEWEST <= self.minutes <= MOST:
            raise ArgumentError("minutes", expected=f"{FEWEST}..{MOST}", got=repr(self.minutes))
        if self.level not in LEVELS:
            raise ArgumentError("level", expected=" | ".join(LEVELS), got=repr(self.level))

    def check(self, bank: Bank) -> None:
        """Refuse topics that the bank has no questions on, or none of this level.

        Raises:
            UnknownNameError: with near names.
            ArgumentError: if nothing is left to ask.
        """
        known = {question.topic for question in bank.questions.values()}
        for topic in self.topics:
            if topic not in known:
                near = difflib.get_close_matches(topic, known, n=3, cutoff=0.3)
                raise UnknownNameError(
                    "topics",
                    expected=Text("the id of a topic", "主题的 id"),
                    got=repr(topic)[:60],
                    hint=", ".join(near or sorted(known)),
                )
        if not any(self.admits(question) for question in bank.questions.values()):
            raise ArgumentError(
                "level",
                expected=Text("a level that these topics have", "这些主题里有的难度"),
                got=repr(self.level),
                hint='level="adaptive"',
            )

    def admits(self, question: Question) -> bool:
        """Whether a question may be asked in this interview."""
        topical = not self.topics or question.topic in self.topics
        taught = not self.chapters or int(question.see) in self.chapters
        return topical and taught and self.level in ("adaptive", question.level)

    def fitting(self, bank: Bank) -> Plan:
        """This plan, or the same over all chapters if those chosen leave nothing to ask."""
        if any(self.admits(question) for question in bank.questions.values()):
            return self
        return replace(self, chapters=())


def topics(bank: Bank) -> dict[str, int]:
    """How many questions the bank has on each topic, in the order of its list."""
    asked = [question.topic for question in bank.questions.values()]
    return {name: asked.count(name) for name in bank.topics if name in asked}
