"""The course's own bank under the engine: every key computes, every right answer is right."""

from __future__ import annotations

import pytest

from fa_toolkit.language import LANGUAGES
from fa_toolkit.quiz import Bank, grade, load_bank
from fa_toolkit.quiz.keys import key_value
from fa_toolkit.quiz.models import NumberQuestion, Question


@pytest.fixture(scope="module")
def course() -> Bank:
    return load_bank()


def every(course: Bank, *kinds: str) -> list[Question]:
    return [question for question in course.questions.values() if question.kind in kinds]


def test_every_key_computes(course: Bank) -> None:
    assert len(course.compute_keys()) == len(every(course, "number", "trace"))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_each_choice_is_graded_as_marked(course: Bank, lang: str) -> None:
    for question in every(course, "choice"):
        for at, choice in enumerate(question.choices):  # type: ignore[union-attr]
            for answer in (at, choice.text[lang]):
                verdict = grade(question.id, answer, lang)
                assert verdict.right == choice.correct, question.id
                item = (*verdict.credited, *verdict.misconceptions)[0]
                assert item.why == choice.why[lang]
    for question in every(course, "many"):
        right = [at for at, c in enumerate(question.choices) if c.correct]  # type: ignore[union-attr]
        assert grade(question.id, right, lang).right


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_value_shown_is_accepted_and_mistakes_are_not(course: Bank, lang: str) -> None:
    for question in every(course, "number"):
        assert isinstance(question, NumberQuestion)
        shown = grade(question.id, "123456789.5", lang).details["value"]
        assert grade(question.id, shown, lang).right, (question.id, shown)
        for at, mistake in enumerate(question.mistakes):
            factor = 1 if question.unit is None else key_value(1.0) / _factor(question.unit)
            wrong = key_value(mistake.value, question.unit) * factor
            verdict = grade(question.id, repr(wrong), lang)
            assert [item.id for item in verdict.misconceptions] == [f"mistake-{at}"], question.id
            assert verdict.score == 0


def _factor(unit: str) -> float:
    from fa_toolkit.quiz.units import UNITS

    return UNITS[unit].factor


def test_orders_matches_and_traces_can_be_answered_rightly(course: Bank) -> None:
    for question in every(course, "order"):
        assert grade(question.id, list(range(len(question.items)))).right  # type: ignore[union-attr]
    for question in every(course, "match"):
        pairs = {pair.left.en: pair.right.en for pair in question.pairs}  # type: ignore[union-attr]
        assert grade(question.id, pairs).right
    for question in every(course, "trace"):
        wrong = grade(question.id, [["12345"] * 9])
        right = {cell["cell"]: cell["right"] for cell in wrong.details["cells"]}
        assert grade(question.id, right).right, question.id
