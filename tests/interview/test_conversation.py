"""The interview as state: the clock, what follows what, what is recorded. No widget."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fa_toolkit.errors import ArgumentError, UnknownNameError
from fa_toolkit.interview import Plan
from fa_toolkit.interview.choosing import DOWN, UP
from fa_toolkit.interview.plan import FEWEST, MOST, topics

Enter = Callable[..., Any]


# the plan


@pytest.mark.parametrize("minutes", [0, 1, MOST + 1, 20.5, True, "20"])
def test_impossible_minutes_are_refused(minutes: Any) -> None:
    with pytest.raises(ArgumentError, match="minutes"):
        Plan(minutes=minutes)
    assert Plan(minutes=FEWEST).minutes == FEWEST


def test_unknown_topics_and_levels_are_named(enter: Enter) -> None:
    room = enter()
    with pytest.raises(ArgumentError, match="level"):
        Plan(level="expert")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="online-softmax"):
        room.held.start(Plan(topics=("online-softmx",)))
    assert room.held.phase == "choose"


def test_only_the_chosen_topics_and_level_are_new_subjects(enter: Enter) -> None:
    room = enter()
    room.held.start(Plan(minutes=180, topics=("gpu-memory", "online-softmax"), level="core"))
    seen = []
    while room.held.phase == "asking":
        seen.append(room.held.turn)
        room.held.skip()
    questions = [turn.question for turn in seen]
    assert {q.topic for q in questions} == {"gpu-memory", "online-softmax"}
    assert {q.level for q in questions} == {"core"}
    assert len({q.id for q in questions}) == len(questions)
    wanted = [q for q in room.held.bank.questions.values() if Plan(
        topics=("gpu-memory", "online-softmax"), level="core").admits(q)]  # fmt: skip
    assert len(questions) == len(wanted), "an interview longer than the bank ends with the bank"


def test_topics_are_those_with_questions(enter: Enter) -> None:
    bank = enter().held.bank
    assert sum(topics(bank).values()) == len(bank.questions)
    assert all(topics(bank).values())


# the clock


def test_the_clock_runs_and_ends_the_interview(enter: Enter) -> None:
    room = enter()
    held = room.held
    assert (held.left, held.elapsed) == (1200, 0)
    held.start(Plan(minutes=10))
    room.wait(599)
    assert held.left == 1
    assert room.say(), "an answer that is being given counts"
    assert held.phase == "report" and held.elapsed == 599
    room.wait(1000)
    assert held.elapsed == 599, "the clock stops with the interview"


def test_an_answer_after_the_time_counts_and_nothing_follows(enter: Enter) -> None:
    room = enter()
    room.held.start(Plan(minutes=10))
    room.put("O1")
    room.wait(700)
    assert room.held.left == -100
    room.say(wrong=("approx",))
    assert room.held.phase == "report"
    assert room.held.report()["seconds"] == 700
    assert len(room.held.report()["questions"]) == 1


def test_a_changed_system_clock_changes_nothing(enter: Enter, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    room = enter()
    room.held.start(Plan(minutes=10))
    monkeypatch.setattr(time, "time", lambda: 0.0)
    room.wait(30)
    assert room.held.left == 570


def test_questions_that_cannot_be_answered_in_time_come_last(enter: Enter) -> None:
    room = enter()
    room.held.start(Plan(minutes=10))
    room.wait(560)  # 40 seconds remain
    room.held.skip()
    assert room.held.turn.question.kind in ("choice", "many", "order")


# what follows


def first(enter: Enter, question: str = "O1", **script: Any) -> Any:
    room = enter()
    room.held.start(Plan(minutes=60))
    room.put(question)
    room.say(**script)
    return room


def test_a_wrong_idea_is_quoted_back_the_fatal_one_first(enter: Enter) -> None:
    room = first(enter, "O2", wrong=("average", "approx"))
    turn = room.held.turn
    assert (turn.kind, turn.about, turn.question.id) == ("challenge", "approx", "O2")
    assert turn.quote == "<approx> words"


def test_a_point_said_otherwise_is_quoted_back(enter: Enter) -> None:
    assert first(enter, against=("exact",)).held.turn.kind == "challenge"


def test_what_may_be_wrong_is_asked_and_costs_nothing(enter: Enter) -> None:
    room = first(enter, said=("sram", "tiling"), asked=("approx",))
    assert (room.held.turn.kind, room.held.turn.about) == ("mean", "approx")
    assert room.held.report()["score"] == 50
    room.say(said=("exact",))
    assert room.held.report()["questions"][0]["score"] == 55


def test_an_answer_not_understood_is_asked_again(enter: Enter) -> None:
    assert first(enter, status="unsure").held.turn.kind == "again"


def test_a_gap_leads_to_a_question_on_the_claim_of_the_heaviest_point(enter: Enter) -> None:
    room = first(enter, "O2", said=("global", "local", "running"))
    turn, bank = room.held.turn, room.held.bank
    assert (turn.kind, turn.about) == ("claim", "rescale")
    point = next(p for p in bank.question("O2").key_points if p.id == "rescale")
    assert set(turn.question.claims) & set(point.claims) and turn.question.kind != "text"
    other = first(enter, "O2", said=("rescale", "local", "running"))
    assert other.held.turn.about == "global" and other.held.turn.question.id != turn.question.id


def test_where_the_bank_has_no_such_question_more_is_asked_for(enter: Enter) -> None:
    room = enter()
    room.held.start(Plan(minutes=60))
    room.put("O2")
    only = {"O2": room.held.bank.question("O2")}
    room.held.bank = _bank_of(room.held.bank, only)
    room.say(said=("global",))
    assert room.held.turn.kind == "more" and room.held.turn.question.id == "O2"


def test_a_full_or_nearly_full_answer_leads_to_a_new_subject(enter: Enter) -> None:
    every = ("global", "local", "running", "rescale", "equal")
    assert first(enter, "O2", said=every).held.turn.kind == "main"
    assert first(enter, "O2", said=every[:-1]).held.turn.kind == "main"


def test_a_wrong_pick_leads_to_another_question_on_its_claim(enter: Enter) -> None:
    room = enter()
    room.held.start(Plan(minutes=60))
    choice = next(q for q in room.held.bank.questions.values() if q.kind == "choice" and q.claims)
    room.put(choice.id)
    room.say(score=0)
    assert room.held.turn.kind == "claim"
    assert set(room.held.turn.question.claims) & set(choice.claims)
    right = enter()
    right.held.start(Plan(minutes=60))
    right.put(choice.id)
    right.say(score=100)
    assert right.held.turn.kind == "main"


def test_one_follow_up_for_each_subject(enter: Enter) -> None:
    room = first(enter, wrong=("approx",))
    room.say(wrong=("approx", "flops"))
    assert room.held.turn.kind == "main"
    room = first(enter)
    assert room.held.turn.kind == "claim"
    room.say(score=0)
    assert room.held.turn.kind == "main"


def test_what_was_let_pass_is_not_followed_up(enter: Enter) -> None:
    room = enter()
    room.held.start(Plan(minutes=60))
    room.put("O1")
    room.held.skip()
    assert room.held.turn.kind == "main"


def test_the_level_follows_the_answers(enter: Enter) -> None:
    def levels(score: int) -> list[str]:
        room = enter()
        room.held.start(Plan(minutes=180))
        found = []
        for _ in range(12):
            question = room.held.turn.question
            found.append(question.level)
            if question.kind == "text":
                share, said = 0, []
                for point in question.key_points:
                    if share + point.weight <= score:
                        share += point.weight
                        said.append(point.id)
                room.say(said=tuple(said))
            else:
                room.say(score=score)
        return found

    up, down = levels(100), levels(0)
    assert UP > DOWN and up[0] == down[0] == "core"
    assert up.count("senior") > down.count("senior")
    assert down.count("warm-up") > up.count("warm-up")


def test_spoken_and_short_questions_take_turns_and_so_do_topics(enter: Enter) -> None:
    room = enter()
    room.held.start(Plan(minutes=120, level="core"))
    asked = []
    for _ in range(10):
        asked.append(room.held.turn.question)
        room.held.skip()
    assert [q.kind == "text" for q in asked] == [True, False] * 5
    assert len({q.topic for q in asked}) >= 8


def test_kinds_stay_in_balance_when_the_level_falls(enter: Enter) -> None:
    room = enter()
    room.held.start(Plan(minutes=120))
    asked = []
    for _ in range(12):
        asked.append(room.held.turn.question)
        room.held.skip()
    assert 4 <= sum(q.kind == "text" for q in asked) <= 8
    assert "warm-up" in {q.level for q in asked}


def test_weak_topics_come_first(enter: Enter) -> None:
    bank = enter().held.bank
    strong = {name: 95.0 for name in topics(bank)}
    wanted = "gpu-memory"
    chosen = tuple(n for n in strong if n in (wanted, "softmax", "masks", "numerics"))
    first_topics = set()
    for seed in "abcdef":
        room = enter(seed=seed, weak={**strong, wanted: 10.0})
        room.held.start(Plan(topics=chosen, level="warm-up"))
        first_topics.add(room.held.turn.question.topic)
    assert len({n for n in first_topics}) == 1


def test_seeds_decide_and_nothing_else(enter: Enter) -> None:
    def run(seed: str) -> list[str]:
        room = enter(seed=seed)
        room.held.start(Plan(minutes=60))
        found = []
        for _ in range(8):
            found.append(room.held.turn.question.id)
            room.held.skip()
        return found

    assert run("a") == run("a")
    assert len({tuple(run(seed)) for seed in "abcdef"}) > 1


# answers and what becomes of them


def test_what_cannot_be_read_is_asked_once_more_and_not_kept(enter: Enter) -> None:
    room = enter()
    room.held.start(Plan())
    turn = room.held.turn
    assert not room.say("")
    assert room.held.turn is turn and room.held.note == "write something"
    assert not room.recorded and not room.kept
    room.say()
    assert room.held.note == ""


def test_first_answers_are_recorded_and_probes_are_not(enter: Enter) -> None:
    room = first(enter, said=("sram",), wrong=("approx",))
    (attempt,) = room.recorded
    assert (attempt["item"], attempt["score"], attempt["kind"]) == ("O1", 10, "quiz")
    assert attempt["detail"]["fatal"] == ["approx"]
    assert attempt["detail"]["interview"] == room.held.name
    json.dumps(attempt)
    room.say(said=("sram", "tiling", "online", "io", "exact", "outcome"))
    assert len(room.recorded) == 1, "what is said after a hint is no first answer"


def test_the_report_is_kept_after_every_answer(enter: Enter) -> None:
    room = first(enter)
    room.say(score=0)
    assert [finished for *_, finished in room.kept] == [False, False]
    room.held.finish()
    assert [finished for *_, finished in room.kept] == [False, False, True]
    assert len({name for name, *_ in room.kept}) == 1
    json.dumps(room.kept[-1][1])


def test_storage_that_fails_does_not_end_the_interview(enter: Enter) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    room = enter(record=fails, keep=fails)
    room.held.start(Plan())
    assert room.say()
    assert room.held.phase == "asking" and "disk full" in room.held.note


def test_the_question_in_front_does_not_count_when_one_leaves(enter: Enter) -> None:
    room = first(enter)
    room.held.finish()
    assert len(room.held.report()["questions"]) == 1
    room.held.again()
    assert room.held.phase == "choose" and room.held.plan.minutes == 60
    room.held.start(Plan(minutes=10))
    assert room.held.turns == []


def test_late_clicks_do_nothing(enter: Enter) -> None:
    room = enter()
    assert not room.held.answer("x")
    room.held.skip()
    room.held.finish()
    room.held.again()
    assert room.held.phase == "choose" and not room.kept


def test_the_language_can_change_on_the_way(enter: Enter) -> None:
    room = first(enter, said=("sram",))
    room.held.speak("zh")
    report = room.held.report()
    assert report["lang"] == "zh"
    assert "原理" in report["questions"][0]["prompt"]
    room.held.speak("en")
    assert "principle" in room.held.report()["questions"][0]["prompt"]


def _bank_of(bank: Any, questions: dict[str, Any]) -> Any:
    from dataclasses import replace

    return replace(bank, questions=questions)
