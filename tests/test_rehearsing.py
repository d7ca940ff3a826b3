"""Review, interview, readiness and the keeping of progress: in the course and in the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fa_toolkit import cli, course, language, rehearsing, terminal
from fa_toolkit.course import rehearsal, standing
from fa_toolkit.errors import ArgumentError, BackendUnavailable, StoreError
from fa_toolkit.language import using
from fa_toolkit.progress import schedule, schema, store
from fa_toolkit.quiz import load_bank

NOW = datetime(2026, 3, 20, 9, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("FA_LANG", "en")
    monkeypatch.setattr(language, "_started", [])
    monkeypatch.setattr(rehearsal, "present", lambda: NOW)
    yield


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Keep an answer some days ago."""

    def keep(item: str, days: float, score: float = 100, **detail: Any) -> None:
        at = (NOW - timedelta(days=days)).isoformat(timespec="milliseconds")
        monkeypatch.setattr(schema, "now", lambda: at)
        chapter = load_bank().chapter_of(item).number
        store().record(
            {
                "item": item, "kind": "quiz", "chapter": chapter, "answer": "A", "score": score,
                "outcome": "right" if score == 100 else "part", "detail": {"status": "ok", **detail},
            }
        )  # fmt: skip

    return keep


def answers(*lines: str) -> Callable[[str], str]:
    """Somebody who types these lines and then is gone."""
    waiting = iter(lines)

    def ask(prompt: str) -> str:
        try:
            return next(waiting)
        except StopIteration:
            raise EOFError from None

    return ask


# review


def test_nothing_to_review_says_why(capsys: pytest.CaptureFixture[str], answer: Any) -> None:
    assert rehearsing.review(20, ask=answers()) == 0
    assert "Nothing to review yet" in capsys.readouterr().out
    answer("O1", 0.5)
    assert rehearsing.review(20, ask=answers()) == 0
    assert "2026-03-21" in capsys.readouterr().out
    assert "2026-03-21" in repr(course.review())
    with using("zh"):
        assert "复习计划" in repr(course.review())


def test_review_asks_what_is_due_and_keeps_the_answer(
    capsys: pytest.CaptureFixture[str], answer: Any
) -> None:
    answer("Q-00-first-win", 5, 0)
    answer("O1", 30)
    answer("O2", 0.2)
    assert rehearsing.review(20, ask=answers("A")) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("2 due.")
    assert "of 2 answered" in shown
    assert len(store().attempts("Q-00-first-win")) == 2


@pytest.mark.parametrize("limit", ["-5", "0"])
def test_a_limit_below_one_is_refused(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["review", "--limit", limit]) == cli.MISUSED
    assert f"1 or more, got {limit}" in capsys.readouterr().err


def test_the_days_to_an_interview_are_counted_in_words() -> None:
    assert "2026-03-21, tomorrow." in rehearsal.plan_by("2026-03-21")
    assert "2026-03-22, in 2 days." in rehearsal.plan_by("2026-03-22")
    with using("zh"):
        assert "就是明天。" in rehearsal.plan_by("2026-03-21")


def test_a_review_card_holds_the_due_questions_in_order(answer: Any) -> None:
    answer("O1", 30)
    answer("Q-00-first-win", 5, 0)
    answer("O3", 9, 0)
    card = course.review(2)
    assert [q.id for q in card.session.questions] == [r.item for r in rehearsal.due(2)[1]]
    assert len(card.session.questions) == 2
    assert card.view["title"] == "Review" and card.session.verdicts == {}
    card.session.answer(0)
    assert len(store().attempts(card.session.question.id)) == 2


def test_questions_that_the_bank_no_longer_has_are_left_out(answer: Any) -> None:
    answer("O1", 9)
    store().record(
        {
            "item": "Q-99-gone",
            "kind": "quiz",
            "chapter": 9,
            "answer": 1,
            "score": 0,
            "outcome": "wrong",
        }
    )
    assert [r.item for r in rehearsal.due()[1]] == ["O1"]


def test_without_fsrs_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    monkeypatch.setitem(sys.modules, "fsrs", None)
    schedule.model.cache_clear()
    try:
        with pytest.raises(BackendUnavailable, match=r"fsrs.*course"):
            rehearsing.review(5)
        answer("O1", 3)
        assert rehearsing.progress() == 0, "what was answered needs no schedule"
    finally:
        schedule.model.cache_clear()


# what an old file did not say


def test_written_answers_of_version_1_are_judged_once_more(answer: Any) -> None:
    answer("O1", 3, 40)
    kept = (
        store()
        .attempts()[0]
        ._replace(
            uuid="old",
            detail={},
            answer="Flash Attention is an approximation of attention.",
            score=90.0,
        )
    )
    store().merge([kept])
    (done,) = rehearsal.completed([kept], load_bank())
    assert done.fatal == ("approx",)
    topic = next(t for t in rehearsal.standing(NOW) if t.name == "flash-forward")
    assert topic.standing == "blocked"


# readiness


def test_readiness_is_shown_as_picture_and_as_text(answer: Any) -> None:
    for item in ("O1", "O2", "O3"):
        answer(item, 2, 90)
    answer("O4", 1, 85, fatal=["flops"])
    topics = rehearsal.standing(NOW)
    with using("en"):
        card = standing.readiness_card(topics)
        html, text = card._repr_html_(), repr(card)
    assert "<svg" in html and "--fa-soft" in html
    assert "✗ blocked" in text and "(O4)" in text and "Not begun" in text
    with using("zh"):
        lines = standing.readiness_text(topics).splitlines()
    assert any("受阻" in line for line in lines)


def test_the_columns_of_the_text_stand_under_each_other(answer: Any) -> None:
    for item in ("O1", "O2", "O3", "Q-00-first-win"):
        answer(item, 2, 90)
    for lang in ("en", "zh"):
        with using(lang):
            lines = standing.readiness_text(rehearsal.standing(NOW)).splitlines()[1:]
        rows = [line for line in lines if any(tick in line for tick in "▁▂▃▄▅▆▇█")]
        ends = {
            standing.columns(line[: max(line.rfind(t) for t in "▁▂▃▄▅▆▇█") + 1]) for line in rows
        }
        assert len(rows) >= 3 and len(ends) == 1


def test_claimed_points_are_never_mastery(answer: Any) -> None:
    answer("O1", 2, 30)
    before = (rehearsal.standing(NOW), rehearsal.schedule(NOW).reviews())
    for point in ("sram", "tiling", "online", "io", "exact", "outcome"):
        store().note_said({"item": "O1", "point": point, "answer": "I did", "lang": "en"})
    assert (rehearsal.standing(NOW), rehearsal.schedule(NOW).reviews()) == before


def test_the_chapters_quiz_hands_claims_to_the_store() -> None:
    card = course.quiz(12)
    session = card.session
    session.answer("It works in SRAM block by block.")
    missing = session.verdict.missing[0].id
    session.say_it(missing)
    assert [(s.item, s.point) for s in store().said()] == [(session.question.id, missing)]


def test_readiness_before_any_answer_is_a_sentence() -> None:
    assert "Nothing answered yet" in repr(standing.readiness_card(rehearsal.standing(NOW)))


def test_a_verdict_is_shown_as_text_never_as_markup() -> None:
    from fa_toolkit.quiz import grade

    verdict = grade("O3", "<b>The N by N scores are never stored in HBM.</b>", "en")
    html = standing.verdict_card(verdict)._repr_html_()
    assert "<b>" not in html and "never stored" in html
    assert "fc-good" in html and "fc-miss" in html
    assert repr(standing.verdict_card(verdict)) == str(verdict)


# interview


def test_an_interview_in_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    lines = ("It is an approximation that never stores the N by N scores.",) * 2
    options = (20, ["flash-forward", "exactness"], "core")
    assert rehearsing.interview(*options, save=target, ask=answers(*lines, "", "q")) == 0
    shown = capsys.readouterr().out
    assert "You said: “" in shown and "Interview report" in shown
    assert "left]" in shown and "Not yet" not in shown
    assert target.read_text("utf-8").startswith("<!doctype html>")
    assert store().interviews()[0].finished
    assert next(a.detail["interview"] for a in store().attempts()) == store().interviews()[0].uuid
    assert "Interview report" in repr(rehearsal.last_report_card())
    with pytest.raises(ArgumentError, match="save"):
        rehearsing.interview(*options, save=target, ask=answers())
    with pytest.raises(ArgumentError, match="save"):
        rehearsing.interview(*options, save=tmp_path / "x.pdf", ask=answers())

    folder = tmp_path / "gone"
    folder.mkdir()

    def leave(prompt: str) -> str:
        folder.rmdir()
        raise EOFError

    with pytest.raises(StoreError):
        rehearsing.interview(*options, save=folder / "x.md", ask=leave)


def test_a_report_without_a_folder_is_refused_before_the_first_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask(prompt: str) -> str:
        raise AssertionError("it began")

    where = tmp_path / "no" / "x.md"
    with pytest.raises(ArgumentError, match=rf"a folder that exists.*{where.parent}\."):
        rehearsing.interview(10, [], "adaptive", everything=True, save=where, ask=ask)
    assert capsys.readouterr().out == ""


def test_ctrl_c_ends_with_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    def ask(_: str) -> str:
        raise KeyboardInterrupt

    assert rehearsing.interview(10, [], "adaptive", ask=ask) == 0
    assert "Nothing was answered." in capsys.readouterr().out


def test_no_two_interviews_ask_the_same() -> None:
    first = rehearsal.interview_state()
    store().keep_interview("x", {}, finished=True)
    assert rehearsal.interview_state().seed != first.seed


def test_an_interview_is_chosen_beforehand() -> None:
    card = course.interview(minutes=30, topics=["softmax"], level="core")
    chosen = {"minutes": 30, "level": "core", "topics": ["softmax"], "scope": "all"}
    assert card.view["choose"]["chosen"] == chosen
    with pytest.raises(ArgumentError):
        course.interview(minutes=0)


def test_no_interview_yet(capsys: pytest.CaptureFixture[str]) -> None:
    course.last_interview()
    assert "No interview has been held yet." in capsys.readouterr().out


# keeping


def test_export_import_reset_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                        monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:  # fmt: skip
    answer("O1", 2)
    target = tmp_path / "mine.json"
    assert cli.main(["progress", "--export", str(target)]) == 0
    assert cli.main(["progress", "--export", str(target)]) == cli.MISUSED, "never overwritten"
    assert json.loads(target.read_text())["attempts"][0]["item"] == "O1"
    monkeypatch.setattr("builtins.input", answers("yes"))
    assert rehearsing.reset(ask=answers("yes")) == 1
    assert rehearsing.reset(ask=answers()) == 1
    assert len(store().attempts()) == 1
    assert rehearsing.reset(ask=answers("forget 1 answers")) == 0
    assert store().attempts() == []
    assert cli.main(["progress", "--import", str(target)]) == 0
    assert cli.main(["progress", "--reset", "--yes"]) == 0
    assert store().attempts() == []
    shown = capsys.readouterr().out
    assert "Answers added" in shown and "Answers forgotten: 1" in shown


def test_a_notebook_forgets_only_by_the_whole_phrase(
    capsys: pytest.CaptureFixture[str], answer: Any
) -> None:
    answer("O1", 2)
    for confirm in ("", "yes", "forget", "forget 2 answers"):
        course.reset_progress(confirm=confirm)
        assert len(store().attempts()) == 1
    assert 'confirm="forget 1 answers"' in capsys.readouterr().out
    course.reset_progress(confirm="forget 1 answers")
    assert store().attempts() == []


def test_export_and_import_in_a_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                         answer: Any) -> None:  # fmt: skip
    answer("O1", 2)
    course.export_progress(str(tmp_path / "mine.json"))
    course.import_progress(str(tmp_path / "mine.json"))
    assert "Answers added" in capsys.readouterr().out


# the terminal's page


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("command", ["review", "interview", "progress"])
def test_help_speaks_both_languages(
    command: str, lang: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--lang", lang, command, "--help"])
    text = cli._HELP[command]
    assert (text.zh if lang == "zh" else text.en).split()[0] in capsys.readouterr().out


def test_progress_shows_readiness(capsys: pytest.CaptureFixture[str], answer: Any) -> None:
    assert cli.main(["progress"]) == 0
    assert "Readiness" not in capsys.readouterr().out
    answer("O1", 2)
    assert cli.main(["progress"]) == 0
    assert "Readiness by topic" in capsys.readouterr().out


def test_long_lines_keep_their_margin_and_code_its_spaces() -> None:
    class Out:
        soft_wrap, width = False, 30

    line = "  ○ " + "word " * 12
    parts = terminal._broken(line, Out())  # type: ignore[arg-type]
    assert len(parts) > 1 and all(len(p) <= 30 for p in parts)
    assert parts[0].startswith("  ○ ") and parts[1].startswith("    word")
    assert terminal._broken("x   =   1", Out()) == ["x   =   1"]  # type: ignore[arg-type]


def test_a_day_shapes_the_review_and_is_kept(
    capsys: pytest.CaptureFixture[str], answer: Any
) -> None:
    answer("Q-00-first-win", 0.5)
    day = (rehearsal.present() + timedelta(days=8)).date().isoformat()
    assert rehearsing.review(20, by=day, ask=answers()) == 0
    assert day in capsys.readouterr().out
    assert rehearsal.schedule().interview is not None
    assert rehearsing.review(20, by="none", ask=answers()) == 0
    assert rehearsal.schedule().interview is None
    for wrong in ("tomorrow", "2020-01-01"):
        with pytest.raises(ArgumentError, match="day"):
            rehearsing.review(20, by=wrong, ask=answers())
    course.interview_on(day)
    assert day in capsys.readouterr().out


def test_an_interview_asks_about_the_chapters_that_were_opened(answer: Any) -> None:
    from fa_toolkit.progress import reading

    assert rehearsal.opened() == set()
    answer("Q-03-lse", 1)
    reading.note(store(), 1, "intro", "en")
    assert rehearsal.opened() == {1, 3}
    held = rehearsal.interview_state()
    assert held.opened == (1, 3) == held.plan.chapters
    assert set(rehearsal.weak()) == {held.bank.question("Q-03-lse").topic}
