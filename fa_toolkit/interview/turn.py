"""One question of an interview with what was answered, and what an answer and its probe come to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from ..quiz.models import Question
from ..quiz.text_question import PENALTY, TextQuestion
from ..quiz.verdict import Item, Verdict

#: main: a new subject. claim: another question on what was missed. The rest probe the same question:
#: challenge: a wrong idea is quoted back. mean: perhaps a wrong idea, so it is asked, not judged.
#: more: points are missing. again: the answer was not understood.
Kind = Literal["main", "claim", "challenge", "mean", "more", "again"]
PROBES: tuple[Kind, ...] = ("challenge", "mean", "more", "again")
#: what is said only when probed earns half, and so does a wrong idea that is taken back
HALF = 0.5

#: words of somebody who corrects himself, and of somebody who does not
_CORRECTS = re.compile(
    r"\b(?:no|not|never|wrong|incorrect|mistake\w*|misspoke|correct|take (?:it|that) back|exact\w*)\b"
    r"|n['’]t\b|不|没|错|收回|更正|改正|纠正|精确",
    re.IGNORECASE,
)
_INSISTS = re.compile(
    r"^\W*(?:yes|yeah|sure|of course|i (?:do |would |will )?stand by|是的?[，,。 ]|对[，,。 ]|坚持|我坚持|当然)",
    re.IGNORECASE,
)


@dataclass
class Turn:
    """One question, or one probe of an earlier one.

    Args:
        about: the point or misconception that led to it.
        quote: the candidate's words that it takes up.
        seconds: how long the answer took.
        passed: whether the candidate let it pass.
    """

    question: Question
    kind: Kind = "main"
    about: str = ""
    quote: str = ""
    answer: Any = None
    verdict: Verdict | None = None
    seconds: float = 0.0
    passed: bool = False

    @property
    def probe(self) -> bool:
        """Whether it asks the same question once more."""
        return self.kind in PROBES


@dataclass(frozen=True)
class Outcome:
    """What a question came to, its probe included.

    Args:
        before: the score of the first answer alone.
        recovered: points that came only when probed.
        wrong: wrong ideas that stand at the end.
        taken_back: wrong ideas that were asserted and then corrected.
        fatal: ids of those among `wrong` that can end an interview.
    """

    score: int
    before: int
    said: tuple[Item, ...] = ()
    recovered: tuple[Item, ...] = ()
    missing: tuple[Item, ...] = ()
    wrong: tuple[Item, ...] = ()
    taken_back: tuple[Item, ...] = ()
    fatal: tuple[str, ...] = ()


def outcome(main: Turn, probe: Turn | None = None) -> Outcome:
    """The outcome of a question.

    A probe earns half the weight of what it brings to light and half the penalty of a wrong idea
    that is taken back: not asserted again in an answer that says something right or corrects
    itself. A new wrong idea costs the whole penalty.
    """
    first = main.verdict
    if first is None:
        return Outcome(0, 0)
    wrong = (*first.contradicted, *first.misconceptions)
    fatal = tuple(first.details.get("fatal", ()))
    question = main.question
    if probe is None or probe.verdict is None or not isinstance(question, TextQuestion):
        return Outcome(
            first.score, first.score, first.credited, (), first.missing, wrong, (), fatal
        )
    second, weights = probe.verdict, question.weights
    told = {item.id for item in second.credited}
    asserted = {item.id for item in second.misconceptions}
    recovered = tuple(i for i in (*first.missing, *first.contradicted) if i.id in told)
    corrected = bool(told) or _corrects(str(probe.answer))
    back = tuple(i for i in first.misconceptions if corrected and i.id not in asserted)
    had = {item.id for item in first.misconceptions}
    new = tuple(item for item in second.misconceptions if item.id not in had)
    points = sum(weights[item.id] for item in first.credited)
    points -= PENALTY * (len(first.misconceptions) + len(new))
    earned = sum(weights[item.id] for item in recovered) + PENALTY * len(back)
    gone = {item.id for item in (*recovered, *back)}
    standing = (*fatal, *second.details.get("fatal", ()))
    return Outcome(
        score=max(0, min(100, round(points + HALF * earned))),
        before=first.score,
        said=first.credited,
        recovered=recovered,
        missing=tuple(item for item in first.missing if item.id not in gone),
        wrong=(*(item for item in wrong if item.id not in gone), *new),
        taken_back=back,
        fatal=tuple(dict.fromkeys(name for name in standing if name not in gone)),
    )


def _corrects(answer: str) -> bool:
    return bool(_CORRECTS.search(answer)) and not _INSISTS.match(answer)
