"""Which question comes next: a new subject, or a follow-up on what the last answer missed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

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
#: readiness that a topic is taken to have before its first question: neither weak nor strong
UNSEEN = 50.0


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
        weak: readiness by topic, 0..100; a topic that is not in it counts as UNSEEN, so that what
            was never read does not pass for what is known least.
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
            weak.get(question.topic, UNSEEN) // 20,
            not question.core,
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


def follow_up(turns: Sequence[Turn], bank: Bank, plan: Plan) -> Turn | None:
    """What to ask because of the last answer, None if a new subject is next.

    A wrong idea is quoted back first. What the grader did not understand is asked again. Then the
    heaviest point that is missing leads to another question on the same claim of the source, or to
    the question that the point brings along, or to a short one on the same topic, and where the
    plan admits none of these to "what would you add". One follow-up for each subject.
    """
    last = turns[-1] if turns else None
    if last is None or last.kind != "main" or last.verdict is None or last.passed:
        return None
    if not isinstance(last.question, TextQuestion):
        if last.verdict.score == 100:
            return None
        other = _short(last.question, turns, bank, plan, claims=last.question.claims)
        return Turn(other, "claim") if other else None
    return _probe(last, last.question) or _on_missing(last, last.question, turns, bank, plan)


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
    last: Turn, question: TextQuestion, turns: Sequence[Turn], bank: Bank, plan: Plan
) -> Turn | None:
    verdict, weights = last.verdict, question.weights
    assert verdict is not None
    missing = sorted(verdict.missing, key=lambda item: -weights[item.id])
    if sum(weights[item.id] for item in missing) < WORTH_ASKING:
        return None
    asks = {point.id for point in question.key_points if point.ask is not None}
    for item in missing:
        other = _short(question, turns, bank, plan, claims=item.claims)
        if other is not None:
            return Turn(other, "claim", item.id)
        if item.id in asks:
            return Turn(question, "more", item.id)
    other = _short(question, turns, bank, plan)
    return Turn(other, "claim") if other else Turn(question, "more")


def _short(
    question: Question,
    turns: Sequence[Turn],
    bank: Bank,
    plan: Plan,
    *,
    claims: Sequence[str] | None = None,
) -> Question | None:
    """The nearest short question on these claims, or on the same topic, that was not asked yet.

    Only what the plan admits; after an answer that lacked something nothing harder if there is
    anything else.
    """
    asked = {turn.question.id for turn in turns}
    rank = _RANKS.index(question.level)

    def shared(other: Question) -> float:
        if claims is None:
            return float(other.topic == question.topic)
        return len(set(claims) & set(other.claims)) / max(1, len(other.claims))

    def order(other: Question) -> tuple[Any, ...]:
        step = _RANKS.index(other.level) - rank
        near = (other.topic != question.topic, -shared(other))
        return (step > 0, *near, abs(step), SECONDS[other.kind], other.id)

    found = [
        other
        for other in bank.questions.values()
        if other.kind != "text" and other.id not in asked and plan.admits(other) and shared(other)
    ]
    return min(found, key=order, default=None)
