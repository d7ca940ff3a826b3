"""What an interview asks about: chapters that were opened, and follow-ups that keep to the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fa_toolkit.interview import Plan
from fa_toolkit.interview.report import lead
from fa_toolkit.interview.view import view
from fa_toolkit.quiz.text_question import TextQuestion

Enter = Callable[..., Any]
TRACK = (0, 1, 2, 3, 4, 9, 11)


def asked(room: Any, most: int = 30, **script: Any) -> list[Any]:
    """The turns of an interview in which every answer is the same."""
    found = []
    while room.held.phase == "asking" and len(found) < most:
        found.append(room.held.turn)
        room.say(**script)
    return found


@pytest.mark.parametrize("score", [0, 100])
def test_only_what_was_opened_is_asked_follow_ups_too(enter: Enter, score: int) -> None:
    room = enter(opened=TRACK)
    room.held.start(Plan(minutes=180, chapters=TRACK))
    turns = asked(room, score=score)
    assert len(turns) == 30
    assert {int(turn.question.see) for turn in turns} <= set(TRACK)


def test_a_chapter_that_was_never_opened_does_not_pass_for_what_is_known_least(
    enter: Enter,
) -> None:
    bank = enter().held.bank
    known = {q.topic: 85.0 for q in bank.questions.values() if int(q.see) in TRACK}
    weakest = "online-softmax"
    for seed in "abcd":
        room = enter(seed=seed, weak={**known, weakest: 20.0})
        room.held.start(Plan(minutes=60, level="core"))
        assert room.held.turn.question.topic == weakest


def test_without_a_chapter_opened_or_a_question_in_those_all_are_asked(enter: Enter) -> None:
    room = enter(opened=())
    assert room.held.plan.chapters == ()
    room.held.start(Plan(topics=("kv-cache",), chapters=(0,)))
    assert room.held.plan.chapters == () and room.held.turn.question.topic == "kv-cache"
    room = enter(opened=(3, 0))
    assert room.held.plan.chapters == (0, 3)


def test_the_card_offers_the_choice_where_there_is_one(enter: Enter) -> None:
    shown = view(enter(opened=(0, 3)).held)["choose"]
    assert [one["value"] for one in shown["scopes"]] == ["opened", "all"]
    assert "00, 03" in shown["scopes"][0]["label"] and shown["chosen"]["scope"] == "opened"
    assert view(enter().held)["choose"]["scopes"] == []
    every = enter(opened=range(13))
    assert view(every.held)["choose"]["scopes"] == []


def test_follow_ups_keep_to_topics_and_level(enter: Enter) -> None:
    for plan in (Plan(minutes=120, topics=("online-softmax",)), Plan(minutes=120, level="core")):
        room = enter()
        room.held.start(plan)
        for turn in asked(room, score=0):
            assert plan.admits(turn.question)


def test_after_a_wrong_pick_nothing_harder_follows_if_there_is_anything_else(enter: Enter) -> None:
    ranks = {"warm-up": 0, "core": 1, "senior": 2}
    followed = 0
    for question in enter().held.bank.questions.values():
        if question.kind != "choice":
            continue
        room = enter()
        room.held.start(Plan(minutes=60))
        room.put(question.id)
        room.say(score=0)
        turn = room.held.turn
        if turn.kind != "claim":
            continue
        followed += 1
        if ranks[turn.question.level] > ranks[question.level]:
            shared = [
                other
                for other in room.held.bank.questions.values()
                if other.kind != "text" and other.id != question.id
                and set(other.claims) & set(question.claims)
                and ranks[other.level] <= ranks[question.level]
            ]  # fmt: skip
            assert not shared, question.id
    assert followed > 30


def test_a_gap_without_a_claim_brings_the_points_own_question(enter: Enter) -> None:
    for lang in ("en", "zh"):
        room = enter(lang=lang)
        room.held.start(Plan(minutes=60))
        room.put("Q-08-tell-tiles")
        room.say(said=("shared",))
        turn = room.held.turn
        point = next(p for p in turn.question.key_points if p.id == turn.about)
        assert (turn.kind, turn.about) == ("more", "regs")
        assert view(room.held)["question"]["prompt"] and lead_of(room, turn) == point.ask[lang]


def lead_of(room: Any, turn: Any) -> str:
    from fa_toolkit.language import using

    with using(room.held.lang):
        return lead(turn)


def test_no_spoken_question_ends_in_a_probe_that_says_nothing(enter: Enter) -> None:
    bank = enter().held.bank
    spoken = [q for q in bank.questions.values() if isinstance(q, TextQuestion)]
    for question in spoken:
        room = enter()
        room.held.start(Plan(minutes=60))
        room.put(question.id)
        room.say()
        turn = room.held.turn
        assert turn.kind == "claim" or turn.about, question.id


def test_without_claims_or_questions_of_points_a_short_one_on_the_topic_comes_first(
    enter: Enter,
) -> None:
    room = enter(record=None)
    room.held.start(Plan(minutes=60))
    question = room.held.bank.question("Q-08-tell-tiles")
    bare = question.model_copy(
        update={
            "key_points": [
                p.model_copy(update={"ask": None, "claims": []}) for p in question.key_points
            ]
        }
    )
    bare._patterns = question._patterns
    questions = {**room.held.bank.questions, bare.id: bare}
    room.held.bank = replace(room.held.bank, questions=questions)
    room.put(bare.id)
    room.say()
    turn = room.held.turn
    assert turn.kind == "claim" and turn.question.topic == bare.topic
    assert turn.question.kind != "text"


def test_there_are_spoken_questions_at_every_level(enter: Enter) -> None:
    spoken = [q for q in enter().held.bank.questions.values() if q.kind == "text"]
    for level in ("warm-up", "core", "senior"):
        assert sum(q.level == level for q in spoken) >= 3
    room = enter()
    room.held.start(Plan(minutes=10, level="warm-up"))
    assert any(turn.question.kind == "text" for turn in asked(room, 4))
