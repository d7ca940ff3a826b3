"""The table of chapters: what it counts is what stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from fa_toolkit import exercises, study, viz
from fa_toolkit.course import counting, table
from fa_toolkit.course.chapters import TITLES
from fa_toolkit.language import using
from fa_toolkit.quiz import load_bank


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_chapter_has_its_line_and_the_last_adds_them_up() -> None:
    with using("en"):
        lines = [cells_of(line) for line in table.table().splitlines() if line.startswith("|")]
    head, _, *rows, total = lines
    assert [row[0][:2] for row in rows] == [f"{n:02d}" for n in counting.numbers()]
    assert {len(row) for row in lines} == {len(head)} and "seconds" not in " ".join(head)
    number = lambda text: 0 if text == "–" else int(text.replace(",", ""))  # noqa: E731
    for column in range(1, len(head)):
        assert number(total[column]) == sum(number(row[column]) for row in rows), head[column]


def test_questions_and_exercises_are_all_of_them() -> None:
    found = {n: counting.of_chapter(n) for n in TITLES}
    bank = load_bank().chapters
    assert {n: c.questions for n, c in found.items()} == {n: len(bank[n].questions) for n in TITLES}
    assert sum(c.exercises for c in found.values()) == sum(len(exercises.ids(n)) for n in TITLES)
    assert counting.of_chapter(13).widgets >= 6 and counting.of_chapter(13).questions == 0


def test_parts_and_what_stands_before_them_make_the_chapter() -> None:
    for chapter in TITLES:
        parts, whole = counting.of_parts(chapter), counting.of_chapter(chapter)
        assert sum(part.questions for part in parts.values()) == whole.questions
        assert sum(part.exercises for part in parts.values()) == whole.exercises
        assert 0 < whole.words - sum(part.words for part in parts.values()) < 400, "the opening"


def test_every_player_counts_as_one() -> None:
    home = Path(viz.__file__).parent
    players = [name for name, part in viz._NAMES.items() if (home / part / "widget.py").is_file()]
    assert len(players) >= 5
    assert [name for name in players if not counting.WIDGETS.search(f"fa.viz.{name}(x)")] == []
    assert not counting.WIDGETS.search("fa.viz.roofline_figure(x)")


def test_an_estimate_grows_with_what_is_to_be_done() -> None:
    less, more = counting.of_parts(3)["acc-ask"], counting.of_parts(3)["exercises"]
    assert more.minutes > 3 * less.minutes and more.exercise_minutes > 0 == less.exercise_minutes
    assert [counting.rounded(x) for x in (0.2, 3.4, 9.4, 12, 13, 61)] == [1, 3, 9, 10, 15, 60]
    assert [counting.tens(x) for x in (54, 55, 165)] == [50, 60, 170]


def test_seconds_come_with_machine_and_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "run_seconds", lambda chapter: float(chapter))
    with using("zh"):
        text = table.table({n: table.run_seconds(n) for n in counting.numbers()})
    assert "运行秒数" in text and "核" in text and "墙钟时间" in text
    assert study.source_folder().is_dir()
