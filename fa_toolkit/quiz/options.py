"""The options of a question and the order one learner sees them in. Says nothing of what is right.

An option is named by an opaque key, so that neither its name nor its place tells anything. The
order depends on the learner and the question only, and so stays the same from day to day.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from .models import ChoiceQuestion, ManyQuestion, MatchQuestion, OrderQuestion, Question
from .models import option_key as _key
from .question import Bilingual


class Option(NamedTuple):
    """One thing that can be picked, moved or joined."""

    key: str
    text: Bilingual
    name: str = ""  # the id an author gave it


def options(question: Question) -> list[Option]:
    """What can be picked (choice, many) or moved (order), in the order of the file."""
    if isinstance(question, (ChoiceQuestion, ManyQuestion)):
        return [Option(_key(question.id, "choice", c.text.en), c.text) for c in question.choices]
    if isinstance(question, OrderQuestion):
        return [Option(_key(question.id, "item", i.text.en), i.text, i.id) for i in question.items]
    return []


def lefts(question: MatchQuestion) -> list[Option]:
    """The left sides of a match, in the order of the file."""
    return [Option(_key(question.id, "left", p.left.en), p.left) for p in question.pairs]


def rights(question: MatchQuestion) -> list[Option]:
    """The right sides of a match, each once."""
    found = {
        _key(question.id, "right", p.right.en): Option(
            _key(question.id, "right", p.right.en), p.right
        )
        for p in question.pairs
    }
    return list(found.values())


def shuffled(listed: Sequence[Option], question: str, learner: str) -> list[Option]:
    """`listed` in the order this learner sees, never the order of the file."""
    mixed = list(listed)
    chance = random.Random(f"{learner}\n{question}")
    while len(mixed) > 1:
        chance.shuffle(mixed)
        if mixed != list(listed) or len(mixed) < 2:
            break
    return mixed


def find(listed: Sequence[Option], given: object) -> Option | None:
    """The option meant by a key, an id, a text in either language, or a place in the file."""
    if isinstance(given, int) and not isinstance(given, bool):
        return listed[given] if 0 <= given < len(listed) else None
    if not isinstance(given, str):
        return None
    wanted = given.strip()
    for option in listed:
        if wanted in (option.key, option.name) and wanted:
            return option
    for option in listed:
        if wanted.casefold() in (option.text.en.casefold(), option.text.zh.casefold()):
            return option
    return None
