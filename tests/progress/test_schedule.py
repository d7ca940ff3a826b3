"""Review and readiness by a fake clock: what is due when, what counts, what blocks."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fa_toolkit.progress import gaps, readiness
from fa_toolkit.progress.readiness import ENOUGH, READY
from fa_toolkit.progress.rows import Attempt
from fa_toolkit.progress.schedule import AGAIN, GOOD, HARD, Schedule, rating
from fa_toolkit.progress.times import FRESH, Timed, evidence, settle

START = datetime(2026, 3, 2, 20, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def answered(
    item: str = "q", after: timedelta = timedelta(0), score: float = 100, n: int = 0, **more: Any
) -> Attempt:
    at = (START + after).isoformat(timespec="milliseconds")
    values: dict[str, Any] = {
        "uuid": f"{item} {after} {n}", "item": item, "kind": "quiz", "chapter": 3, "lang": "en",
        "answer": "", "score": score, "outcome": "ok", "version": "0", "at": at, "seq": n,
    }  # fmt: skip
    return Attempt(**(values | more))


def scheduled(*log: Attempt, at: timedelta, zone: Any = UTC) -> Schedule:
    numbered = [a._replace(seq=n) for n, a in enumerate(log)]
    return Schedule(settle(numbered, START + at), START + at, zone)


def due(*log: Attempt, at: timedelta, zone: Any = UTC) -> list[str]:
    return [review.item for review in scheduled(*log, at=at, zone=zone).due()]


# when


def test_gaps_grow_with_success_and_begin_anew_after_a_lapse() -> None:
    assert gaps([100, 100, 100, 100]) == [2, 11, 46, 163]
    lapsed = gaps([100, 100, 100, 0, 100])
    assert lapsed[3] < lapsed[0] + 2 and lapsed[4] < lapsed[1]
    assert gaps([70, 70]) < gaps([100, 100])


def test_nothing_comes_back_the_same_day() -> None:
    for score in (0, 70, 100):
        assert gaps([score])[0] >= 1


def test_the_same_log_gives_the_same_schedule() -> None:
    log = [answered("a"), answered("b", DAY, 40), answered("a", 3 * DAY, 70)]
    one, two = (scheduled(*log, at=9 * DAY).reviews() for _ in range(2))
    assert one == two


def test_due_from_the_midnight_of_the_learner() -> None:
    """Answered wrong on 2 March at 20:00 UTC: due on the 3rd, wherever that is."""
    wrong = answered(score=0)
    assert due(wrong, at=timedelta(hours=3.5)) == []
    assert due(wrong, at=timedelta(hours=4)) == ["q"]  # midnight in UTC
    shanghai, pacific = ZoneInfo("Asia/Shanghai"), ZoneInfo("America/Los_Angeles")
    # 20:00 UTC is 04:00 of the 3rd in Shanghai, so the next day begins there at 16:00 UTC
    assert due(wrong, at=timedelta(hours=19.9), zone=shanghai) == []
    assert due(wrong, at=timedelta(hours=20), zone=shanghai) == ["q"]
    # noon of the 2nd in California, where the 3rd begins at 08:00 UTC
    assert due(wrong, at=timedelta(hours=11.9), zone=pacific) == []
    assert due(wrong, at=timedelta(hours=12), zone=pacific) == ["q"]


def test_moving_to_another_zone_or_summer_time_moves_no_answer() -> None:
    log = [answered(score=0), answered("b", DAY)]
    at_home = scheduled(*log, at=4 * DAY, zone=ZoneInfo("Europe/Berlin")).reviews()
    away = scheduled(*log, at=4 * DAY, zone=timezone(timedelta(hours=-11))).reviews()
    assert at_home == away
    spoken = answered(score=0)._replace(at="2026-03-02T12:00:00-08:00")  # the same moment
    assert scheduled(spoken, at=DAY).reviews() == scheduled(answered(score=0), at=DAY).reviews()


def test_likeliest_forgotten_comes_first() -> None:
    log = [answered("long ago"), answered("lately", 20 * DAY), answered("wrong", 20 * DAY, 0)]
    assert due(*log, at=24 * DAY) == ["wrong", "long ago", "lately"]


def test_exercises_are_not_reviewed() -> None:
    assert due(answered(score=0, kind="exercise"), at=9 * DAY) == []


def test_the_next_day_is_named() -> None:
    planned = scheduled(answered(), at=timedelta(hours=1))
    assert planned.due() == [] and planned.next_due() == START + 2 * DAY
    assert scheduled(at=DAY).next_due() is None


# clocks


def test_a_clock_that_ran_ahead_puts_nothing_off() -> None:
    """One answer says 2031; the clock is then put right. The question is due as if it had been."""
    ahead = answered(score=0, after=2000 * DAY)
    assert due(ahead, answered("b", DAY), at=3 * DAY) == ["q", "b"]


def test_a_clock_that_ran_a_month_ahead_is_found_out_later_too() -> None:
    log = [answered(f"x{n}", n * DAY) for n in range(5)]
    log += [answered("q", 35 * DAY, 0)] + [answered(f"y{n}", (6 + n) * DAY) for n in range(5)]
    numbered = [a._replace(seq=n) for n, a in enumerate(log)]
    when = {t.attempt.item: t.when for t in settle(numbered, START + 60 * DAY)}
    assert when["q"] == START + 4 * DAY
    assert when["y4"] == START + 10 * DAY


def test_a_clock_set_back_keeps_the_order_of_answers() -> None:
    log = [answered("q", 3 * DAY, 0), answered("q", 2 * DAY, 100), answered("z", 4 * DAY)]
    numbered = [a._replace(seq=n) for n, a in enumerate(log)]
    settled = settle(numbered, START + 5 * DAY)
    assert [t.attempt.score for t in settled if t.attempt.item == "q"] == [0, 100]


@pytest.mark.parametrize("at", ["", "yesterday", "1970-01-01T00:00:00+00:00", "9999-12-31"])
def test_a_time_that_says_nothing_is_no_harm(at: str) -> None:
    broken = answered(score=0)._replace(at=at)
    assert due(answered("a"), broken, answered("b", DAY), at=3 * DAY)[0] == "q"
    assert scheduled(broken, at=DAY).reviews()[0].recall > 0


@given(st.lists(st.integers(-900, 900), min_size=1, max_size=30))
@example([0, 0, -1])
def test_times_are_in_order_believable_and_mostly_kept(days: list[int]) -> None:
    log = [answered("q", n * DAY)._replace(seq=at, uuid=str(at)) for at, n in enumerate(days)]
    now = START + 40 * DAY
    settled = settle(log, now)
    assert [t.attempt.seq for t in settled] == sorted(range(len(days)))
    assert all(t.when <= now for t in settled)
    kept = sum(t.when == START + days[t.attempt.seq] * DAY for t in settled)
    believable = [
        n for n in days if n <= 41 and START + n * DAY >= datetime(2025, 1, 1, tzinfo=UTC)
    ]
    longest = max(
        (sum(a <= b for a, b in itertools.pairwise(run)) + 1 for run in _rising(believable)),
        default=0,
    )
    assert kept >= longest - sum(n > 40 for n in days)


def _rising(days: list[int]) -> list[list[int]]:
    """Every stretch of days that does not fall."""
    runs: list[list[int]] = []
    for day in days:
        if runs and day >= runs[-1][-1]:
            runs[-1].append(day)
        else:
            runs.append([day])
    return runs


def test_answers_of_another_machine_fall_into_their_place() -> None:
    here = [answered("a", n * DAY)._replace(seq=n, origin="here") for n in (0, 4)]
    there = [answered("a", n * DAY)._replace(seq=n, origin="there") for n in (1, 2)]
    settled = settle([*here, *there], START + 9 * DAY)
    assert [t.attempt.origin for t in settled] == ["here", "there", "there", "here"]
    assert [t.when for t in settled] == [START + n * DAY for n in (0, 1, 2, 4)]


# what counts


@pytest.mark.parametrize(
    ("score", "outcome", "fatal", "expected"),
    [
        (100, "right", [], GOOD), (85, "part", [], GOOD), (84, "part", [], HARD),
        (60, "part", [], HARD), (59, "part", [], AGAIN), (0, "wrong", [], AGAIN),
        (100, "unsure", [], HARD), (50, "unsure", [], AGAIN), (100, "right", ["approx"], AGAIN),
    ],
)  # fmt: skip
def test_rating(score: float, outcome: str, fatal: list[str], expected: int) -> None:
    given = answered(score=score, outcome=outcome, detail={"fatal": fatal})
    assert rating(given) == expected


def test_an_answer_read_off_the_feedback_does_not_count() -> None:
    first, soon = answered(score=0), answered(after=FRESH / 2)
    later = answered(after=FRESH * 2)
    assert due(first, soon, at=DAY) == ["q"]
    assert scheduled(first, soon, at=DAY).reviews() == scheduled(first, at=DAY).reviews()
    assert scheduled(first, later, at=DAY).reviews()[0].times == 2
    kept = evidence([Timed(first, START), Timed(soon, START + FRESH / 2)])
    assert [t.attempt.score for t in kept] == [0]


def test_a_worse_answer_counts_however_soon() -> None:
    assert scheduled(answered(), answered(after=FRESH / 2, score=0), at=DAY).reviews()[0].times == 2


# readiness

TOPIC = {"t": [f"q{n}" for n in range(8)]}


def topic(*log: Attempt, at: timedelta) -> Any:
    return readiness(scheduled(*log, at=at), TOPIC)[0]


def test_a_few_right_answers_do_not_make_ready() -> None:
    right = [answered(f"q{n}") for n in range(8)]
    assert [topic(*right[:n], at=timedelta(hours=1)).score for n in (0, 1, 2, 4, 5, 8)] == [
        0, 20, 40, 80, 100, 100,
    ]  # fmt: skip
    assert topic(at=DAY).standing == "unseen"
    assert topic(*right[:3], at=timedelta(0)).standing == "under way"
    assert topic(*right[:ENOUGH], at=timedelta(0)).standing == "ready"


def test_a_small_topic_needs_no_more_than_it_has() -> None:
    found = readiness(scheduled(answered("a"), at=timedelta(0)), {"t": ["a"]})[0]
    assert (found.score, found.needed, found.standing) == (100, 1, "ready")


def test_readiness_fades_and_its_history_says_so() -> None:
    right = [answered(f"q{n}") for n in range(6)]
    later = topic(*right, at=40 * DAY)
    assert later.score < READY and later.standing == "under way"
    values = [value for _, value in later.history]
    assert values[0] == 100 and values[-1] == pytest.approx(later.score, abs=0.5)
    assert all(a >= b for a, b in itertools.pairwise(values))
    assert later.history[0][0] == START and later.history[-1][0] == START + 40 * DAY


FATAL = {"fatal": ["approx"]}


def test_a_fatal_misconception_blocks_whatever_the_score() -> None:
    right = [answered(f"q{n}") for n in range(8)]
    bad = answered("q0", timedelta(hours=1), 85, detail=FATAL)
    found = topic(*right, bad, at=timedelta(hours=2))
    assert found.score >= READY and found.standing == "blocked"
    assert [(b.item, b.misconception) for b in found.blocks] == [("q0", "approx")]


def test_the_block_goes_only_by_a_clean_answer_on_a_later_day() -> None:
    right = [answered(f"q{n}") for n in range(8)]
    bad = answered("q0", timedelta(hours=1), 85, detail=FATAL)
    soon = answered("q0", timedelta(hours=2))
    tomorrow = answered("q0", timedelta(hours=25))
    assert topic(*right, bad, soon, at=timedelta(hours=3)).standing == "blocked"
    assert topic(*right, bad, soon, tomorrow, at=timedelta(hours=26)).standing == "ready"
    poor = answered("q0", timedelta(hours=25), 40)
    assert topic(*right, bad, poor, at=timedelta(hours=26)).standing == "blocked"
    unsure = answered("q0", timedelta(hours=25), 90, outcome="unsure")
    assert topic(*right, bad, unsure, at=timedelta(hours=26)).standing == "blocked"
    other = answered("q1", timedelta(hours=25))
    assert topic(*right, bad, other, at=timedelta(hours=26)).standing == "blocked"


# towards the day of an interview


def towards(days: int, *log: Attempt, at: timedelta, zone: Any = UTC) -> Schedule:
    numbered = [a._replace(seq=n) for n, a in enumerate(log)]
    timed = settle(numbered, START + at)
    day = (START + days * DAY).astimezone(zone).date()
    return Schedule(timed, START + at, zone, day)


def test_what_would_come_back_after_the_interview_comes_back_on_its_eve() -> None:
    log = [answered("a"), answered("a", 2 * DAY)]
    assert scheduled(*log, at=3 * DAY).reviews()[0].due > START + 8 * DAY
    (review,) = towards(8, *log, at=3 * DAY).reviews()
    assert review.due.date() == (START + 7 * DAY).date()
    assert not towards(8, *log, at=6 * DAY).due()
    assert [r.item for r in towards(8, *log, at=7 * DAY).due()] == ["a"]


def test_what_is_due_before_stays_and_what_was_answered_on_the_eve_is_done() -> None:
    soon = towards(8, answered("a"), at=DAY).reviews()[0]
    assert soon.due == scheduled(answered("a"), at=DAY).reviews()[0].due
    log = [answered("a"), answered("a", 2 * DAY), answered("a", 7 * DAY)]
    assert not towards(8, *log, at=7 * DAY + timedelta(hours=1)).due()
    assert not towards(8, *log, at=9 * DAY).due(), "after the interview it plans as ever"


def test_many_questions_are_spread_over_the_last_days_the_best_known_first() -> None:
    log = [answered(f"q{n:02d}", n * timedelta(minutes=10)) for n in range(50)]
    log += [answered(f"q{n:02d}", 2 * DAY + n * timedelta(minutes=10)) for n in range(50)]
    reviews = towards(9, *log, at=3 * DAY).reviews()
    days = [r.due.date() for r in sorted(reviews, key=lambda r: (r.due, r.item))]
    assert sorted(set(days)) == [(START + n * DAY).date() for n in (6, 7, 8)]
    assert max(days.count(day) for day in set(days)) <= 20
    best = max(reviews, key=lambda r: r.recall)
    worst = min(reviews, key=lambda r: r.recall)
    assert best.due < worst.due


def test_a_day_that_is_over_changes_nothing() -> None:
    log = [answered("a"), answered("a", 2 * DAY)]
    assert towards(2, *log, at=5 * DAY).reviews() == scheduled(*log, at=5 * DAY).reviews()


def test_the_eve_is_the_learners_own() -> None:
    far = ZoneInfo("Pacific/Auckland")
    log = [answered("a"), answered("a", 2 * DAY)]
    (review,) = towards(8, *log, at=3 * DAY, zone=far).reviews()
    local = review.due.astimezone(far)
    assert (local.hour, local.minute) == (0, 0)
    assert local.date() == ((START + 8 * DAY).astimezone(far) - DAY).date()
