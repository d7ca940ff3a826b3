"""A run through a quiz: moving, answering, remembering; and nothing of the answer before it is given."""

from __future__ import annotations

import json
from typing import Any

import pytest
from quiz_secrets import secrets, wrong_answer

from fa_toolkit.quiz import Bank, load_bank
from fa_toolkit.quiz.models import (
    MatchQuestion,
    OrderQuestion,
)
from fa_toolkit.quiz.options import lefts, options, rights, shuffled
from fa_toolkit.quiz.plain import quiz_html, quiz_text, verdict_text
from fa_toolkit.quiz.session import Attempt, Session
from fa_toolkit.quiz.view import view


def both_banks(small: Bank) -> list[tuple[Bank, int]]:
    course = load_bank()
    return [(small, 3), *((course, number) for number in course.chapters)]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_nothing_shown_before_answering_tells_the_answer(bank: Bank, lang: str) -> None:
    looked_at = 0
    for source, chapter in both_banks(bank):
        session = Session(chapter, bank=source, lang=lang)
        fallback = quiz_text(session) + quiz_html(session)
        for at, question in enumerate(session.questions):
            session.go(at)
            seen = json.dumps(view(session), ensure_ascii=False)
            for secret in secrets(question, source):
                assert secret not in seen, (question.id, secret)
                if len(secret) > 20:
                    assert secret not in fallback, (question.id, secret)
            for word in ('"correct"', '"why', '"right"', '"explain"', '"answer": {', '"details"'):
                assert word not in seen, (question.id, word)
            looked_at += 1
    assert looked_at >= 7


def test_after_answering_the_reasons_are_there(bank: Bank) -> None:
    for source, chapter in both_banks(bank):
        session = Session(chapter, bank=source, lang="en")
        for at, question in enumerate(session.questions):
            session.go(at)
            assert session.answer(wrong_answer(question)).status == "ok", question.id
            shown = view(session)
            assert len(shown["verdict"]["citations"]) == len(question.claims)
            assert shown["verdict"]["explain"]
            assert str(session.verdicts[question.id]) == verdict_text(session.verdicts[question.id])
            session.retry()
            assert view(session)["verdict"] is None
            assert view(session)["answer"] is None


def test_options_are_mixed_by_learner_and_stay_so(bank: Bank) -> None:
    question = bank.question("Q-03-factor")
    listed = options(question)
    orders = {
        tuple(o.key for o in shuffled(listed, question.id, f"learner {n}")) for n in range(40)
    }
    assert len(orders) > 10
    assert shuffled(listed, question.id, "a") == shuffled(listed, question.id, "a")
    first = [shuffled(listed, question.id, f"learner {n}")[0] == listed[0] for n in range(400)]
    assert 60 < sum(first) < 140  # a quarter of the learners see the right one first


def test_an_order_never_begins_solved(bank: Bank) -> None:
    question = bank.question("Q-03-steps")
    assert isinstance(question, OrderQuestion)
    listed = options(question)
    assert all(shuffled(listed, question.id, str(n)) != listed for n in range(300))


def test_keys_of_the_two_sides_of_a_match_share_nothing(bank: Bank) -> None:
    question = bank.question("Q-03-pairs")
    assert isinstance(question, MatchQuestion)
    keys = [o.key for o in lefts(question) + rights(question)]
    assert len(set(keys)) == 6


def test_answers_are_recorded_and_restored(bank: Bank) -> None:
    kept: list[Attempt] = []
    session = Session(3, bank=bank, lang="en", record=kept.append)
    for at, question in enumerate(session.questions[:4]):
        session.go(at)
        session.answer(wrong_answer(question))
    session.answer("")  # nothing: not recorded
    assert [entry["item"] for entry in kept] == [q.id for q in session.questions[:4]]
    assert kept[0].keys() >= {"kind", "chapter", "lang", "answer", "score", "outcome", "version"}
    json.dumps(kept)
    again = Session(3, bank=bank, lang="zh", restore=lambda: {e["item"]: e["answer"] for e in kept})
    assert set(again.verdicts) == {entry["item"] for entry in kept}
    assert again.position == 4  # the first one that is open
    assert again.verdicts["Q-03-factor"].lang == "zh"


def test_memory_that_fails_never_takes_the_quiz_away(bank: Bank) -> None:
    def broken(*_: object) -> Any:
        raise OSError("disk full")

    session = Session(3, bank=bank, lang="en", record=broken, restore=broken)
    assert "disk full" in session.note
    verdict = session.answer(0)
    assert verdict.score == 100
    assert "could not be saved: disk full" in session.note
    odd = {"Q-03-factor": object(), "Q-03-gone": 1, "Q-03-true": ["no such option"]}
    assert Session(3, bank=bank, restore=lambda: odd).verdicts == {}


def test_language_can_be_changed_on_the_way(bank: Bank) -> None:
    session = Session(3, bank=bank, lang="en")
    session.answer(1)
    session.speak("zh")
    assert view(session)["verdict"]["headline"] == "还不对"
    assert session.verdicts["Q-03-factor"].lang == "zh"


def test_some_questions_only(bank: Bank) -> None:
    session = Session(3, bank=bank, only=["Q-03-value"])
    assert [q.id for q in session.questions] == ["Q-03-value"]
    session.go(99)
    assert session.position == 0


def test_markup_of_the_bank_is_escaped(bank: Bank) -> None:
    from fa_toolkit.quiz.markup import to_html

    assert to_html('<img src=x onerror="a">`<b>`**<i>**') == (
        "&lt;img src=x onerror=&quot;a&quot;&gt;<code>&lt;b&gt;</code><strong>&lt;i&gt;</strong>"
    )
    session = Session(3, bank=bank, lang="en")
    session.go(2)
    session.answer("1<2")
    assert "1<2" not in json.dumps(view(session)["verdict"])


def test_lines_of_code_keep_their_shape() -> None:
    from fa_toolkit.quiz.markup import to_html

    text = "Wrong?\n```python\nfor n in range(8):\n    a < b\n```\nSay **which**."
    assert to_html(text) == (
        "Wrong?<pre><code>for n in range(8):\n    a &lt; b</code></pre>Say <strong>which</strong>."
    )


def test_a_written_answer_is_shown_with_what_its_verdict_rests_on() -> None:
    text = "The result is exact 🙂. <b>It is an approximation</b>, though."
    session = Session(12, lang="en", only=["O1"])
    verdict = session.answer("There is far less traffic to HBM. " + text)
    pieces = view(session)["verdict"]["text"]["marked"]
    assert "".join(piece["text"] for piece in pieces) == verdict.said
    assert {piece["kind"] for piece in pieces} == {"", "good", "bad"}
    for item in verdict.misconceptions:
        assert item.span is not None
        inside = verdict.said[slice(*item.span)]
        assert any(inside in piece["text"] for piece in pieces if piece["kind"] == "bad")
    assert "this is so; the contrary was said" in verdict_text(verdict)
