"""The store: what goes in comes out, whatever happens to the process, the disk or the file."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attempts import attempt

from fa_toolkit.errors import ArgumentError, StoreError
from fa_toolkit.language import using
from fa_toolkit.progress import Store, files, schema, store
from fa_toolkit.progress.exchange import export_to, import_from


def test_what_is_recorded_is_found_again_by_another_store(path: Path) -> None:
    Store(path).record(attempt())
    (found,) = Store(path).attempts("Q-03-a")
    assert found.answer == {"行": "1.5"}
    assert (found.kind, found.chapter, found.lang, found.score) == ("quiz", 3, "zh", 50.0)
    assert found.version
    assert found.at.endswith("+00:00")


def test_latest_is_the_last_recorded_even_if_the_clock_went_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Store(path)
    times = iter(["2031-01-01T00:00:00+00:00", "2019-01-01T00:00:00+00:00"])
    monkeypatch.setattr(schema, "now", lambda: next(times))
    kept.record(attempt(answer="first"))
    kept.record(attempt(answer="second"))
    assert kept.latest(3) == {"Q-03-a": "second"}
    assert kept.latest(4) == {}


def test_summary_counts_by_latest_answer(path: Path) -> None:
    kept = Store(path)
    kept.record(attempt("Q-03-a", score=0))
    kept.record(attempt("Q-03-a", score=100))
    kept.record(attempt("Q-03-b", score=50))
    kept.record(attempt("03.merge", kind="exercise", outcome="passed", score=100))
    kept.record(attempt("Q-04-a", chapter=4))
    three, four = kept.summary().chapters
    assert (three.chapter, three.questions, three.right, three.mean) == (3, 2, 1, 75.0)
    assert (three.exercises, three.passed, four.questions) == (1, 1, 1)
    with using("zh"):
        assert "第 03 章" in str(kept.summary())
    with using("en"):
        assert str(kept.summary()).splitlines() == [
            "chapter 03  ·  questions answered: 2, mean 75  ·  exercises passed: 1 of 1 tried",
            "chapter 04  ·  questions answered: 1, mean 50",
        ]


def test_reset_forgets_only_what_was_asked(path: Path) -> None:
    kept = Store(path)
    for item, chapter in (("a", 3), ("b", 3), ("c", 4)):
        kept.record(attempt(item, chapter=chapter))
    assert kept.reset(item="a") == 1
    assert set(kept.latest()) == {"b", "c"}
    assert kept.reset(chapter=3) == 1
    assert kept.reset() == 1
    assert kept.latest() == {}


def test_export_and_import_carry_everything_once(path: Path, tmp_path: Path) -> None:
    kept, other = Store(path), Store(tmp_path / "other" / "progress.sqlite3")
    for n in range(3):
        kept.record(attempt(f"Q-03-{n}"))
    target = tmp_path / "export.json"
    assert export_to(kept, target) == 3
    assert (import_from(other, target), import_from(other, target)) == (3, 0)
    assert other.attempts() == kept.attempts()
    with pytest.raises(StoreError):
        export_to(kept, target)  # never overwrites


WRONG_EXPORTS = {
    "": "no valid JSON",
    "\x00": "no valid JSON",
    "[]": "some other kind",
    "{}": "some other kind",
    '{"format": "x"}': "some other kind",
    '{"format": "fa_toolkit progress", "version": 9}': "version 9",
    '{"format": "fa_toolkit progress", "version": 2}': "cannot be used",
    '{"format": "fa_toolkit progress", "version": 2, "attempts": [{"x": 1}]}': "cannot be used",
}


@pytest.mark.parametrize("content", WRONG_EXPORTS)
def test_import_of_something_else_adds_nothing(path: Path, tmp_path: Path, content: str) -> None:
    kept = Store(path)
    source = tmp_path / "wrong.json"
    source.write_text(content)
    with pytest.raises(StoreError, match=WRONG_EXPORTS[content]) as refused:
        import_from(kept, source)
    assert not re.search(r"Error|Attempt|__|indices|column", str(refused.value))
    assert kept.attempts() == []
    with pytest.raises(StoreError, match="no such file"):
        import_from(kept, tmp_path / "none.json")


def test_import_is_all_or_nothing(path: Path, tmp_path: Path) -> None:
    kept = Store(path)
    kept.record(attempt())
    target = tmp_path / "export.json"
    export_to(kept, target)
    data = json.loads(target.read_text())
    data["attempts"].append({**data["attempts"][0], "uuid": "", "item": "Q-03-z"})
    target.write_text(json.dumps(data))
    empty = Store(tmp_path / "empty" / "progress.sqlite3")
    with pytest.raises(StoreError):
        import_from(empty, target)
    assert empty.attempts() == []


@pytest.mark.parametrize(
    "changes", [{"kind": "exam"}, {"score": 101}, {"score": float("nan")}, {"score": -1}]
)
def test_impossible_attempts_are_refused(path: Path, changes: dict[str, Any]) -> None:
    kept = Store(path)
    with pytest.raises(ArgumentError):
        kept.record(attempt(**changes))
    assert kept.attempts() == []


def test_odd_answers_are_kept(path: Path) -> None:
    kept = Store(path)
    for odd in ("\ud800", "\x00", "‮", {"a": [None, True, 1e308]}, "'; DROP TABLE attempts; --"):
        kept.record(attempt(answer=odd))
        assert kept.latest()["Q-03-a"] == odd


def test_the_learner_is_the_same_tomorrow_and_another_elsewhere(path: Path, tmp_path: Path) -> None:
    assert Store(path).learner == Store(path).learner != Store(tmp_path / "b.sqlite3").learner


def test_a_migration_is_all_or_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(path).record(attempt())
    have = schema.CURRENT
    later = (*schema.MIGRATIONS, ("ALTER TABLE attempts ADD COLUMN note TEXT", "BROKEN"))
    monkeypatch.setattr(schema, "MIGRATIONS", later)
    monkeypatch.setattr(schema, "CURRENT", have + 1)
    with closing(files.connect(path)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            schema.migrate(connection)
        assert schema.version(connection) == have
        columns = connection.execute("PRAGMA table_info(attempts)").fetchall()
        assert "note" not in {column[1] for column in columns}
    monkeypatch.setattr(schema, "MIGRATIONS", (*later[:-1], later[-1][:1]))
    assert set(Store(path).latest()) == {"Q-03-a"}
    with closing(sqlite3.connect(path)) as connection:
        assert schema.version(connection) == have + 1


def test_the_folder_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FA_DATA_DIR", str(tmp_path / "elsewhere"))
    assert files.location() == tmp_path / "elsewhere" / "progress.sqlite3"
    assert store() is store()
    assert store().path == files.location()
    monkeypatch.delenv("FA_DATA_DIR")
    assert "fa_toolkit" in str(files.location())


def test_threads_share_a_store(path: Path) -> None:
    import threading

    kept = Store(path)
    work: list[Callable[[], str]] = [lambda n=n: kept.record(attempt(f"Q-{n}")) for n in range(8)]
    threads = [threading.Thread(target=job) for job in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept.attempts()) == 8


def test_the_day_of_an_interview_is_kept_and_forgotten(path: Path) -> None:
    from datetime import date

    from fa_toolkit.progress.planned import plan_interview, planned_interview

    kept = Store(path)
    assert planned_interview(kept) is None
    plan_interview(kept, date(2026, 12, 8))
    assert planned_interview(Store(path)) == date(2026, 12, 8)
    plan_interview(kept, None)
    assert planned_interview(kept) is None
    plan_interview(kept, date(2026, 12, 9))
    kept.reset()
    assert planned_interview(kept) is None
