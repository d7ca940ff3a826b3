"""The card's shell: what reaches the browser before the end, and what it may ask for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fa_toolkit.interview import Plan
from fa_toolkit.interview.view import view
from fa_toolkit.interview.widget import InterviewCard, front_end

Enter = Callable[..., Any]


def card(room: Any) -> tuple[InterviewCard, list[Any]]:
    made, sent = InterviewCard(room.held), []
    made.send = sent.append  # type: ignore[method-assign]
    return made, sent


def tell(made: InterviewCard, **message: Any) -> None:
    made._hear(made, {"key": made.view.get("key"), "serial": 1, **message}, [])


def test_choose_answer_and_read_the_report(enter: Enter) -> None:
    room = enter()
    made, sent = card(room)
    assert made.view["phase"] == "choose"
    tell(made, do="start", minutes=10, level="core", topics=["online-softmax"])
    assert made.view["phase"] == "asking" and made.view["clock"] == {"left": 600, "whole": 600}
    tell(made, do="answer", answer="words")
    tell(made, do="finish")
    assert made.view["phase"] == "report" and made.view["report"]["topics"]
    tell(made, do="export", **{"as": "md"})
    assert sent[-1]["file"].startswith("# Interview report")
    tell(made, do="export", **{"as": "html"})
    assert sent[-1]["file"].startswith("<!doctype html>")
    tell(made, do="again")
    assert made.view["phase"] == "choose" and made.view["choose"]["chosen"]["minutes"] == 10


def test_nothing_of_a_verdict_is_sent_before_the_end(enter: Enter) -> None:
    room = enter()
    made, _ = card(room)
    tell(made, do="start", minutes=60, level="adaptive", topics=[])
    bank = room.held.bank
    for _ in range(12):
        question = room.held.turn.question
        sent = json.dumps(made.view, ensure_ascii=False)
        for lang in ("en", "zh"):
            assert question.explain[lang] not in sent
        if question.kind == "text":
            assert question.model_answer.en[:40] not in sent
            for earlier in room.held.turns:
                for point in getattr(earlier.question, "key_points", ()):
                    assert point.text.en not in sent
        assert "score" not in made.view and "verdict" not in made.view and "report" not in made.view
        room.script.said, room.script.score = (), 0
        tell(made, do="answer", answer="words")
    assert bank.questions


def test_a_second_click_on_the_same_question_does_nothing(enter: Enter) -> None:
    room = enter()
    made, _ = card(room)
    tell(made, do="start", minutes=30, level="adaptive", topics=[])
    old = made.view["key"]
    tell(made, do="answer", answer="words")
    tell(made, do="answer", answer="words", key=old)
    tell(made, do="skip", key=old)
    assert len(room.held.turns) == 1


def test_a_second_start_does_not_throw_an_interview_away(enter: Enter) -> None:
    room = enter()
    made, _ = card(room)
    tell(made, do="start", minutes=30, level="adaptive", topics=[])
    tell(made, do="answer", answer="words")
    tell(made, do="start", minutes=10, level="adaptive", topics=[])
    assert len(room.held.turns) == 1 and room.held.plan.minutes == 30


@pytest.mark.parametrize(
    "message",
    [
        {"do": "start", "minutes": 1e9}, {"do": "start", "minutes": "x"}, {"do": "start", "minutes": None},
        {"do": "start", "topics": ["nonsense"]}, {"do": "start", "level": "<b>"}, {"do": "start", "level": 3},
        {"do": "start", "topics": [{"a": 1}]}, {"do": "nonsense"}, {"do": None}, {"do": "answer", "answer": {}},
        {"do": "export", "as": "../../etc"}, {"do": "read", "text": 3}, {}, {"do": "again"},
    ],
)  # fmt: skip
def test_odd_messages_change_nothing(enter: Enter, message: dict[str, Any]) -> None:
    room = enter()
    made, sent = card(room)
    made._hear(made, message, [])
    made._hear(made, "text", [])
    assert made.view["phase"] == "choose" and not room.held.turns
    if message.get("do") == "start":
        assert made.view["note"]


@pytest.mark.parametrize("answer", [None, [], {"a": [1]}, 3.5, "\ud800", "x" * 30_000, True])
def test_odd_answers_are_answered_with_a_note_or_taken(enter: Enter, answer: Any) -> None:
    room = enter(real=True)
    made, _ = card(room)
    tell(made, do="start", minutes=30, level="adaptive", topics=[])
    before = len(room.held.turns)
    tell(made, do="answer", answer=answer)
    assert len(room.held.turns) - before in (0, 1)
    assert made.view["phase"] == "asking"


def test_the_language_changes_and_the_clock_goes_on(enter: Enter) -> None:
    room = enter()
    made, _ = card(room)
    tell(made, do="start", minutes=30, level="adaptive", topics=[])
    room.wait(60)
    tell(made, do="speak")
    assert made.view["lang"] == "zh" and made.view["clock"]["left"] == 1740
    assert made.view["labels"]["title"] == "模拟面试"


def test_the_text_form_says_what_it_is_and_then_the_report(enter: Enter) -> None:
    room = enter()
    made, _ = card(room)
    assert "fa interview" in made._repr_mimebundle_()[0]["text/plain"]
    room.held.start(Plan())
    room.say()
    room.held.finish()
    assert "Interview report" in made._repr_mimebundle_()[0]["text/plain"]


def test_the_front_end_is_one_module_with_one_door() -> None:
    module, style = front_end()
    assert module.count("export default") == 1 and "import " not in module.split("\n", 3)[0]
    for name in ("function renderInterview", "const FORMS"):
        assert module.count(name) == 1
    assert ".fi-clock" in style and ".fa-quiz" in style


def test_every_label_the_card_uses_is_there(enter: Enter) -> None:
    import re
    from pathlib import Path

    source = (Path(__file__).parents[2] / "fa_toolkit/interview/interview.js").read_text("utf-8")
    used = set(re.findall(r"labels\.(\w+)", source)) | {"time_up", "last_minute", "left"}
    room = enter()
    room.held.start(Plan())
    assert used <= set(view(room.held)["labels"])
