"""The question bank of the course: coverage, keys, feedback, and answers that do not give
themselves away by their length or place."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from fa_toolkit.quiz import grade, load_bank
from fa_toolkit.quiz.keys import key_value, trace_table
from fa_toolkit.quiz.models import (
    ChoiceQuestion,
    ManyQuestion,
    MatchQuestion,
    NumberQuestion,
    OrderQuestion,
    Question,
    TraceQuestion,
)
from fa_toolkit.quiz.text_question import TextQuestion
from fa_toolkit.quiz.units import NONE, UNITS

BANK = load_bank()
CHAPTERS = (*range(10), 11)
LAST_CHAPTER = 12
LEAST = {0: 8}  # questions a chapter must have; 10 where nothing is said
VERDICTS = {
    "holds": ["S02", "S03", "S09", "S10", "S11", "S14", "S17", "S23"],
    "wrong": ["S21"],
}
SHARPEST = ("S04", "S07", "S08", "S19", "S21", "S24")  # where the article is right only in part
UNLIKELY = 0.02  # a bank as lopsided as that by chance


def of_kind(kind: type) -> list[Any]:
    return [q for q in BANK.questions.values() if isinstance(q, kind)]


def tail(hits: int, trials: int, chance: float) -> float:
    """Probability of at least `hits` in `trials`."""
    return sum(
        math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(hits, trials + 1)
    )


# claims and chapters


def test_claims_are_the_24_with_their_verdicts() -> None:
    assert sorted(BANK.claims) == [f"S{n:02d}" for n in range(1, 25)]
    found = defaultdict(list)
    for name, claim in BANK.claims.items():
        found[claim.verdict].append(name)
        assert claim.caveat is not None, name
        assert claim.shown_by is not None, name
    assert dict(found) | VERDICTS == dict(found)
    assert {n for n, c in BANK.claims.items() if c.self_corrected} == {"S11", "S14", "S16", "S18"}


def test_every_claim_is_asked_in_two_ways() -> None:
    asked: dict[str, list[str]] = defaultdict(list)
    for question in BANK.questions.values():
        for claim in question.claims:
            asked[claim].append(question.kind)
    assert sorted(asked) == sorted(BANK.claims)
    thin = {name: kinds for name, kinds in asked.items() if len(kinds) < 3 or len(set(kinds)) < 2}
    assert not thin


@pytest.mark.parametrize("claim", SHARPEST)
def test_a_caveat_that_matters_is_asked_above_warm_up(claim: str) -> None:
    assert any(claim in q.claims and q.level in ("core", "senior") for q in BANK.questions.values())


@pytest.mark.parametrize("number", CHAPTERS)
def test_chapter_has_enough_questions_of_four_kinds(number: int) -> None:
    chapter = BANK.chapter(number)
    assert len(chapter.questions) >= LEAST.get(number, 10)
    assert len({q.kind for q in chapter.questions}) >= 4
    assert {q.level for q in chapter.questions} >= {"warm-up", "core"}
    for question in chapter.questions:
        assert question.id.startswith(f"Q-{number:02d}-")
        assert int(question.see) <= LAST_CHAPTER, question.id


def test_softmax_and_tiles_have_traces_and_later_chapters_have_bugs() -> None:
    kinds = {n: {q.kind for q in BANK.chapter(n).questions} for n in CHAPTERS}
    assert "trace" in kinds[3] and "trace" in kinds[4]
    code = {n: sum("```" in q.prompt.en for q in BANK.chapter(n).questions) for n in (5, 6)}
    assert code[5] >= 2 and code[6] >= 3


# nothing but knowledge tells the answer


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("extreme", [max, min])
def test_length_does_not_give_the_answer_away(lang: Any, extreme: Any) -> None:
    questions = of_kind(ChoiceQuestion)
    hits = 0
    for question in questions:
        right = next(len(c.text[lang]) for c in question.choices if c.correct)
        wrong = [len(c.text[lang]) for c in question.choices if not c.correct]
        hits += extreme([right, *wrong]) == right and right not in wrong
    least = min(len(q.choices) for q in questions)
    assert tail(hits, len(questions), 1 / least) > UNLIKELY, f"{hits} of {len(questions)}"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_right_options_are_no_longer_than_wrong_ones_on_average(lang: Any) -> None:
    for kind in (ChoiceQuestion, ManyQuestion):
        ratios = []
        for question in of_kind(kind):
            sizes: dict[bool, list[int]] = {True: [], False: []}
            for choice in question.choices:
                sizes[choice.correct].append(len(choice.text[lang]))
            right, wrong = (sum(part) / len(part) for part in (sizes[True], sizes[False]))
            ratios.append(math.log(right / wrong))
        mean = math.exp(sum(ratios) / len(ratios))
        assert 1 / 1.15 < mean < 1.15, f"{kind.__name__}: {mean:.2f}"


def test_place_does_not_give_the_answer_away() -> None:
    questions = of_kind(ChoiceQuestion)
    places = Counter(next(at for at, c in enumerate(q.choices) if c.correct) for q in questions)
    for place, hits in places.items():
        assert tail(hits, len(questions), 1 / 4) > UNLIKELY, f"place {place}: {hits}"


def test_no_option_speaks_of_the_others() -> None:
    banned = ("all of the above", "none of the above", "以上都", "以上全", "以上皆", "都不对")
    for question in (*of_kind(ChoiceQuestion), *of_kind(ManyQuestion)):
        for choice in question.choices:
            assert not any(b in (choice.text.en + choice.text.zh).lower() for b in banned)


# every option has its own feedback, and grading agrees with the file


def test_feedback_is_given_once_only() -> None:
    for question in (*of_kind(ChoiceQuestion), *of_kind(ManyQuestion)):
        for lang in ("en", "zh"):
            whys = [c.why[lang] for c in question.choices]
            assert len(set(whys)) == len(whys), question.id
    for question in of_kind(ChoiceQuestion):
        assert len(question.choices) >= 4, question.id


def right_answers(question: Question) -> Any:
    """The answer of the file in the form `grade` takes."""
    if isinstance(question, ChoiceQuestion):
        return next(at for at, c in enumerate(question.choices) if c.correct)
    if isinstance(question, ManyQuestion):
        return [at for at, c in enumerate(question.choices) if c.correct]
    if isinstance(question, OrderQuestion):
        return [item.id for item in question.items]
    if isinstance(question, MatchQuestion):
        return {pair.left.en: pair.right.en for pair in question.pairs}
    if isinstance(question, TraceQuestion):
        return trace_table(question)
    if isinstance(question, TextQuestion):
        return question.model_answer.en
    key = key_value(question.answer, question.unit)
    return f"{key!r} {_base(question)}".strip()


def _base(question: NumberQuestion) -> str:
    """The base unit keys are in: bytes for MiB, FLOP, nothing for x."""
    bases = ("B", "FLOP", "FLOP/B", "s", "B/s", "FLOP/s")
    dimension = UNITS[question.unit].dimension if question.unit else NONE
    return next((name for name in bases if UNITS[name].dimension == dimension), "")


def wrong_answers(question: Question) -> Iterator[Any]:
    """Answers that must not earn full marks."""
    right = right_answers(question)
    if isinstance(question, ChoiceQuestion):
        yield from (at for at in range(len(question.choices)) if at != right)
    elif isinstance(question, ManyQuestion):
        yield list(range(len(question.choices)))
        yield from ([at for at in right if at != left_out] for left_out in right[1:])
    elif isinstance(question, OrderQuestion):
        yield [*right[1:], right[0]]
    elif isinstance(question, MatchQuestion):
        lefts, rights = list(right), list(right.values())
        yield dict(zip(lefts, [*rights[1:], rights[0]], strict=True))
    elif isinstance(question, TraceQuestion):
        yield [{name: value + 1 for name, value in row.items()} for row in right]
    elif isinstance(question, TextQuestion):
        yield from (entry.text.zh for entry in question.misconceptions)
        yield question.prompt.en
    else:
        yield -1


@pytest.mark.parametrize("name", sorted(BANK.questions))
def test_right_is_right_and_wrong_is_wrong(name: str) -> None:
    question = BANK.question(name)
    verdict = grade(name, right_answers(question), "en")
    assert verdict.status == "ok" and verdict.score == 100, verdict
    for answer in wrong_answers(question):
        verdict = grade(name, answer, "zh")
        assert verdict.judged and verdict.score < 100, answer


@pytest.mark.parametrize("question", of_kind(NumberQuestion), ids=lambda q: q.id)
def test_known_mistakes_miss_the_key_and_each_other(question: NumberQuestion) -> None:
    assert question.mistakes, "a number without a known wrong value teaches little"
    values = [key_value(mistake.value, question.unit) for mistake in question.mistakes]
    values.append(key_value(question.answer, question.unit))
    for at, value in enumerate(values):
        for other in values[at + 1 :]:
            gap = abs(value - other)
            assert gap > 2 * question.tolerance * max(abs(value), abs(other)), (value, other)
    for at, value in enumerate(values[:-1]):
        verdict = grade(question.id, f"{value!r} {_base(question)}".strip(), "en")
        assert verdict.score == 0
        assert [item.why for item in verdict.misconceptions] == [question.mistakes[at].why.en]


def test_every_key_can_be_computed() -> None:
    assert len(BANK.compute_keys()) == len(of_kind(NumberQuestion)) + len(of_kind(TraceQuestion))
