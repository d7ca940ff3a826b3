"""The card's shell: what crosses to the browser, and what comes back from it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from quiz_secrets import secrets, wrong_answer

from fa_toolkit.quiz import Bank, load_bank
from fa_toolkit.quiz.session import Attempt
from fa_toolkit.quiz.widget import QuizCard, quiz


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every message a card sends, state updates included."""
    messages: list[Any] = []

    def keep(self: QuizCard, message: Any, buffers: Any = None) -> None:
        messages.append(message)

    monkeypatch.setattr(QuizCard, "_send", keep)
    return messages


def tell(card: QuizCard, **message: Any) -> None:
    """What the front end would send."""
    card._handle_custom_msg({"question": card.session.question.id, "serial": 1, **message}, [])


def state(card: QuizCard) -> str:
    """All of a widget's state as it is sent to the browser."""
    return json.dumps(card.get_state(), ensure_ascii=False, default=str)


def test_no_state_and_no_message_tells_an_answer_before_it_is_given(
    bank: Bank, sent: list[Any]
) -> None:
    course = load_bank()
    for source, chapter in [(bank, 3), *((course, number) for number in course.chapters)]:
        card = quiz(chapter, bank=source, lang="en")
        for at, question in enumerate(card.session.questions):
            hidden = secrets(question, source)
            sent.clear()
            tell(card, do="go", to=at)
            if question.kind in ("number", "trace"):
                tell(card, do="read", text="2 * 3")
            tell(card, do="answer", answer=None)
            crossed = state(card) + json.dumps(sent, ensure_ascii=False, default=str)
            for secret in hidden:
                assert secret not in crossed, (question.id, secret)
            tell(card, do="answer", answer=wrong_answer(question))
            assert card.view["verdict"]["explain"] in state(card)
            tell(card, do="retry")
            assert all(secret not in state(card) for secret in hidden), question.id


def test_reading_a_number_says_the_same_of_right_and_wrong(bank: Bank, sent: list[Any]) -> None:
    card = quiz(3, bank=bank, lang="en", only=["Q-03-traffic"])
    for text, read in (("128", "128 KiB"), ("127", "127 KiB"), ("0.125 MiB", "128 KiB")):
        tell(card, do="read", text=text)
        reply = sent[-1]["content"]
        assert reply == {"read": 1, "as": read, "problem": ""}
    tell(card, do="read", text="2 pi")
    assert "before" in sent[-1]["content"]["problem"]


def test_a_click_becomes_a_verdict(bank: Bank) -> None:
    kept: list[Attempt] = []
    card = quiz(3, bank=bank, lang="en", record=kept.append, learner="x")
    key = card.view["question"]["options"][0]["key"]
    tell(card, do="answer", answer=key)
    assert card.view["verdict"]["score"] in (0, 100)
    assert kept[0]["answer"] == key
    tell(card, do="go", to=3)
    assert card.view["position"] == 3
    tell(card, do="speak")
    assert card.view["lang"] == "zh"


@pytest.mark.parametrize(
    "message",
    [None, 1, "answer", [], {}, {"do": "answer"}, {"do": ["answer"]}, {"do": "go", "to": "x"},
     {"do": "go", "to": float("inf")}, {"do": "read", "text": {}}, {"do": "quit"}],
)  # fmt: skip
def test_odd_messages_do_no_harm(bank: Bank, message: Any) -> None:
    card = quiz(3, bank=bank, lang="en")
    if isinstance(message, dict) and message.get("do") == "go":
        message["question"] = card.session.question.id
    card._hear(card, message, [])
    assert card.view["position"] == 0
    assert card.view["verdict"] is None


def test_an_answer_to_a_question_no_longer_in_front_is_not_taken(bank: Bank) -> None:
    card = quiz(3, bank=bank, lang="en")
    card._hear(card, {"do": "answer", "answer": 0, "question": "Q-03-true"}, [])
    assert card.session.verdicts == {}


def test_where_widgets_cannot_run_the_questions_are_there_as_text(bank: Bank) -> None:
    card = quiz(3, bank=bank, lang="zh")
    bundle = card._repr_mimebundle_()[0]
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "第二块的最大值是 4" in bundle["text/plain"]
    assert '<div lang="zh-CN">' in bundle["text/html"]
    assert bundle["text/plain"].count("\n\n") == len(card.session.questions)
