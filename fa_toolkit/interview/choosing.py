"""Which question comes next: a new subject, or a follow-up on what the last answer missed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ..quiz.bank import Bank
from ..quiz.models import Question
from ..quiz.text_question import TextQuestion
from .plan import SECONDS, Plan
from .turn import Turn

_RANKS = ("warm-up", "core", "senior")
#: a main answer of so many points leads to a harder question, one below the other to an easier one
UP, DOWN = 85, 60
#: what a question of the kind whose turn it is not loses, in steps of level
OTHER_KIND = 0.75
#: missing points of this weight together are worth a probe
WORTH_ASKING = 25


def next_subject(
    turns: Sequence[Turn],
    plan: Plan,
    bank: Bank,
    *,
    left: float,
    seed: str,
    weak: Mapping[str, float],
) -> Question | None:
    """A question on a new subject, None if the bank has no more.

    Spoken answers and others take turns unless the level asks for the other kind; so do topics,
    weaker ones first.

    Args:
        left: seconds that remain; a question that cannot be answered in them comes last.
        weak: readiness by topic, 0..100; a topic that is not in it counts as 0.
    """
    asked = {turn.question.id for turn in turns}
    open_ones = [q for q in bank.questions.values() if q.id not in asked and plan.admits(q)]
    done = [turn.question for turn in turns if not turn.probe]
    spoken = sum(question.kind == "text" for question in done)
    lag = len(done) - 2 * spoken  # how many more short ones there were
    speak = lag >= 0
    wanted = _wanted_rank(turns)
    chance = random.Random(f"{seed}\n{len(turns)}")
    ties = {question.id: chance.random() for question in open_ones}

    def order(question: Question) -> tuple[float, ...]:
        off = abs(_RANKS.index(question.level) - wanted) if plan.level == "adaptive" else 0
        other_kind = (question.kind == "text") != speak
        return (
            SECONDS[question.kind] / 2 > left,
            off + other_kind * (OTHER_KIND + abs(lag) / 2),
            sum(question.topic == earlier.topic for earlier in done),
            not question.core,
            weak.get(question.topic, 0) // 20,
            ties[question.id],
        )

    return min(open_ones, key=order, default=None)


def _wanted_rank(turns: Sequence[Turn]) -> int:
    """Where the answers so far have led: one step up or down after each."""
    rank = 1
    for turn in turns:
        if turn.probe:
            continue
        score = turn.verdict.score if turn.verdict else 0
        rank += (score >= UP) - (score < DOWN)
        rank = max(0, min(2, rank))
    return rank


def follow_up(turns: Sequence[Turn], bank: Bank) -> Turn | None:
    """What to ask because of the last answer, None if a new subject is next.

    A wrong idea is quoted back first. What the grader did not understand is asked again. Then the
    heaviest point that is missing leads to another question on the same claim of the source, and
    where the bank has none, to "what would you add". One follow-up for each subject.
    """
    last = turns[-1] if turns else None
    if last is None or last.kind != "main" or last.verdict is None or last.passed:
        return None
    if not isinstance(last.question, TextQuestion):
        if last.verdict.score == 100:
            return None
        other = _on_claims(last.question.claims, last.question, turns, bank)
        return Turn(other, "claim") if other else None
    return _probe(last, last.question) or _on_missing(last, last.question, turns, bank)


def _probe(last: Turn, question: TextQuestion) -> Turn | None:
    verdict = last.verdict
    assert verdict is not None
    quotes, fatal = verdict.details["quotes"], verdict.details["fatal"]
    wrong = sorted(verdict.misconceptions, key=lambda item: item.id not in fatal)
    for item in (*wrong, *verdict.contradicted):
        if quotes.get(item.id):
            return Turn(question, "challenge", item.id, quotes[item.id])
    for asked in verdict.details["asked"]:
        if quotes.get(asked["id"]):
            return Turn(question, "mean", asked["id"], quotes[asked["id"]])
    return Turn(question, "again") if verdict.status == "unsure" else None


def _on_missing(
    last: Turn, question: TextQuestion, turns: Sequence[Turn], bank: Bank
) -> Turn | None:
    verdict, weights = last.verdict, question.weights
    assert verdict is not None
    missing = sorted(verdict.missing, key=lambda item: -weights[item.id])
    if sum(weights[item.id] for item in missing) < WORTH_ASKING:
        return None
    for item in missing:
        other = _on_claims(item.claims, question, turns, bank)
        if other is not None:
            return Turn(other, "claim", item.id)
    return Turn(question, "more")


def _on_claims(
    claims: Sequence[str], question: Question, turns: Sequence[Turn], bank: Bank
) -> Question | None:
    """The nearest short question on these claims that was not asked yet."""
    asked = {turn.question.id for turn in turns}
    rank = _RANKS.index(question.level)
    found = [
        other
        for other in bank.questions.values()
        if other.id not in asked and other.kind != "text" and set(claims) & set(other.claims)
    ]
    return min(
        found,
        key=lambda other: (
            other.topic != question.topic,
            -len(set(claims) & set(other.claims)) / len(other.claims),
            abs(_RANKS.index(other.level) - rank),
            SECONDS[other.kind],
            other.id,
        ),
        default=None,
    )
