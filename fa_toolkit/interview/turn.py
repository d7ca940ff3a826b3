"""One question of an interview with what was answered, and what an answer and its probe come to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from ..quiz.free_text.rubric import rules
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

#: words of somebody who takes a thing back, at the beginning of what is said
_TAKES_BACK = re.compile(
    r"^\W*(?:no|nope|sorry|not quite|actually|i (?:was|am) wrong|i (?:misspoke|take)|that (?:was|is) wrong|"
    r"wrong|correction|不对|不是|不坚持|不，|不,|错|抱歉|我(?:说|讲)?错|收回|更正|改正|纠正)",
    re.IGNORECASE,
)
#: words of somebody who corrects himself anywhere, and of somebody who does not
_CORRECTS = re.compile(
    r"\b(?:no|not|never|wrong|incorrect|mistake\w*|misspoke|correct|take (?:it|that) back|exact\w*)\b"
    r"|n['’]t\b|不|没|错|收回|更正|改正|纠正|精确",
    re.IGNORECASE,
)
_INSISTS = re.compile(
    r"^\W*(?:yes|yeah|sure|of course|i (?:do |would |will )?stand by|是的?[，,。 ]|对[，,。 ]|坚持|我坚持|当然)",
    re.IGNORECASE,
)
#: what a bare "no, I take it back" consists of
_RECANTING = re.compile(
    r"\b(?:no|nope|sorry|oops|that|this|it|was|is|wrong|incorrect|a|my|mistake|i|am|was|take|back|misspoke|"
    r"would|not|stand|by|correct|correction|retract|withdraw|don't|didn't|mean|say|so|of|course|you|are|right|ok|"
    r"okay|actually|and|the|statement|sentence|answer)\b"
    r"|不对|不是|不坚持|不|错了?|说|讲|我|收回|更正|改正|纠正|抱歉|这|那|句话?|是|的|了|刚才|前面|口误|你|对",
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
        cleared: what was held against the answer and rightly defended when quoted back.
        wrong: wrong ideas that stand at the end.
        taken_back: wrong ideas that were asserted and then corrected.
        withdrawn: wrong ideas that were taken back without saying what is right.
        fatal: ids of those among `wrong` that can end an interview.
    """

    score: int
    before: int
    said: tuple[Item, ...] = ()
    recovered: tuple[Item, ...] = ()
    missing: tuple[Item, ...] = ()
    wrong: tuple[Item, ...] = ()
    taken_back: tuple[Item, ...] = ()
    withdrawn: tuple[Item, ...] = ()
    cleared: tuple[Item, ...] = ()
    fatal: tuple[str, ...] = ()


def outcome(main: Turn, probe: Turn | None = None) -> Outcome:
    """The outcome of a question.

    A probe earns half the weight of what it brings to light and half the penalty of a wrong idea
    that is corrected: not asserted again in an answer that says something right or denies it. To
    take it back and no more earns nothing. Who defends the quoted words and says by it the very
    point that they were held against gets all of it back. A new wrong idea costs the whole penalty.
    """
    first, question = main.verdict, main.question
    if first is None:
        return Outcome(0, 0)
    wrong = (*first.contradicted, *first.misconceptions)
    fatal = tuple(first.details.get("fatal", ()))
    if probe is None or probe.verdict is None or not isinstance(question, TextQuestion):
        said = first.credited
        return Outcome(first.score, first.score, said, (), first.missing, wrong, fatal=fatal)
    return _probed(main, first, probe, probe.verdict, question)


def _probed(
    main: Turn, first: Verdict, probe: Turn, second: Verdict, question: TextQuestion
) -> Outcome:
    answer, weights = str(probe.answer), question.weights
    told = {item.id for item in second.credited}
    asserted = {item.id for item in second.misconceptions}
    cleared = _cleared(first, probe, second, question)
    gone = {item.id for item in cleared}
    lacking = (*first.missing, *first.contradicted)
    recovered = tuple(i for i in lacking if i.id in told and i.id not in gone)
    dropped = [i for i in first.misconceptions if i.id not in asserted and i.id not in gone]
    bare = not told and not _RECANTING.sub("", answer).strip(" \n.,;:!?，。；：！？、—-“”\"'")
    back = tuple(dropped) if (told or _corrects(answer)) and not bare else ()
    withdrawn = tuple(dropped) if bare and _corrects(answer) else ()
    had = {item.id for item in first.misconceptions}
    new = tuple(item for item in second.misconceptions if item.id not in had)
    points = sum(weights[item.id] for item in first.credited)
    points -= PENALTY * (len(had) + len(new))
    points += sum(weights.get(item.id, PENALTY) for item in cleared)
    earned = sum(weights[item.id] for item in recovered) + PENALTY * len(back)
    gone |= {item.id for item in (*recovered, *back, *withdrawn)}
    left = (*first.contradicted, *first.misconceptions)
    fatal = (*first.details.get("fatal", ()), *second.details.get("fatal", ()))
    return Outcome(
        score=max(0, min(100, round(points + HALF * earned))),
        before=first.score,
        said=first.credited,
        recovered=recovered,
        missing=tuple(item for item in first.missing if item.id not in gone),
        wrong=(*(item for item in left if item.id not in gone), *new),
        taken_back=back,
        withdrawn=withdrawn,
        cleared=cleared,
        fatal=tuple(dict.fromkeys(name for name in fatal if name not in gone)),
    )


def _cleared(
    first: Verdict, probe: Turn, second: Verdict, question: TextQuestion
) -> tuple[Item, ...]:
    """What the quoted words were wrongly held to say, if the defence says the point itself.

    An idea that can end an interview is not cleared by a defence, only corrected.
    """
    answer = str(probe.answer)
    if probe.kind != "challenge" or second.misconceptions or _TAKES_BACK.match(answer):
        return ()
    told = {item.id for item in second.credited}
    fatal = first.details.get("fatal", ())
    ideas = [i for i in first.misconceptions if i.id == probe.about and i.id not in fatal]
    points = {probe.about, *(name for i in ideas for name in _against(i, first, question))}
    right = tuple(item for item in first.contradicted if item.id in points & told)
    return (*right, *ideas) if points & told else ()


def _against(idea: Item, first: Verdict, question: TextQuestion) -> set[str]:
    """The points that a wrong idea speaks against: by its patterns, or by the same words."""
    named = set(rules(question).misconceptions[idea.id].cancels)
    return named | {item.id for item in first.contradicted if _overlap(item.span, idea.span)}


def _overlap(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    return one is not None and other is not None and one[0] < other[1] and other[0] < one[1]


def _corrects(answer: str) -> bool:
    return bool(_CORRECTS.search(answer)) and not _INSISTS.match(answer)
