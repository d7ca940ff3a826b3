"""The store: what goes in comes out, whatever happens to the process, the disk or the file."""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fa_toolkit.errors import ArgumentError, StoreError
from fa_toolkit.language import using
from fa_toolkit.progress import Store, files, schema, store
from fa_toolkit.progress.exchange import export_to, import_from

WRITER = """
import sys
from pathlib import Path
from fa_toolkit.progress import Store
kept = Store(Path(sys.argv[1]))
for n in range(int(sys.argv[3])):
    kept.record({"item": f"{sys.argv[2]}-{n}", "kind": "quiz", "chapter": 3, "answer": [n] * 50,
                 "score": 100, "outcome": "right"})
    sys.stdout.write(f"{n}\\n")
    sys.stdout.flush()
assert kept.saving
"""


def attempt(item: str = "Q-03-a", **changes: Any) -> dict[str, Any]:
    return {
        "item": item, "kind": "quiz", "chapter": 3, "lang": "zh", "answer": {"行": "1.5"},
        "score": 50, "outcome": "part", **changes,
    }  # fmt: skip


def start_writer(path: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "学习 数据" / "progress.sqlite3"


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


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "x"}', "\x00"])
def test_import_of_something_else_adds_nothing(path: Path, tmp_path: Path, content: str) -> None:
    kept = Store(path)
    source = tmp_path / "wrong.json"
    source.write_text(content)
    with pytest.raises(StoreError):
        import_from(kept, source)
    assert kept.attempts() == []


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


def test_four_processes_write_at_once(path: Path) -> None:
    writers = [start_writer(path, f"w{n}", 25) for n in range(4)]
    ended = [writer.communicate(timeout=120) for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4, ended
    kept = Store(path)
    assert len(kept.attempts()) == 100
    assert len({a.uuid for a in kept.attempts()}) == 100
    assert not list(path.parent.glob("*damaged*"))


def test_a_kill_at_any_moment_loses_nothing_that_was_confirmed(path: Path) -> None:
    chance = random.Random(7)
    confirmed: dict[str, int] = {}
    for turn in range(5):
        writer = start_writer(path, f"t{turn}", 100_000)
        assert writer.stdout is not None
        writer.stdout.readline()  # it has begun to write
        time.sleep(chance.uniform(0.0, 0.2))
        writer.send_signal(signal.SIGKILL)
        confirmed[f"t{turn}"] = 1 + len(writer.communicate()[0].splitlines())
    kept = Store(path)
    assert kept.saving
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    found = kept.latest()
    for name, count in confirmed.items():
        assert all(f"{name}-{n}" in found for n in range(count))
    assert not list(path.parent.glob("*damaged*"))


@pytest.mark.parametrize("how", ["text", "header", "middle", "foreign"])
def test_a_damaged_file_is_set_aside_untouched(
    path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept = Store(path)
    kept.record(attempt(answer="x" * 400))
    (one,) = kept.attempts()
    kept.merge([one._replace(uuid=str(n), item=f"Q-03-{n}") for n in range(200)])
    content = bytearray(path.read_bytes())
    if how == "text":
        content = bytearray(b"my notes, not a database\n" * 100)
    elif how == "header":
        content[:16] = b"\x00" * 16
    elif how == "middle":
        content[4096:-4096] = os.urandom(len(content) - 8192)
    path.write_bytes(content)
    if how == "foreign":
        path.unlink()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE recipes (name TEXT)")
        content = bytearray(path.read_bytes())
    with caplog.at_level(logging.WARNING), using("en"):
        fresh = Store(path)
    fresh.record(attempt())
    assert fresh.saving
    assert len(fresh.attempts()) == 1
    (aside,) = path.parent.glob("*damaged*.sqlite3")
    assert aside.read_bytes() == bytes(content)
    assert [r.message.startswith("The progress file was damaged") for r in caplog.records] == [True]


def test_damage_while_open_is_noticed_and_the_answer_still_kept(path: Path) -> None:
    kept = Store(path)
    kept.record(attempt())
    path.write_bytes(b"not a database at all" * 500)
    kept.record(attempt("Q-03-b"))
    assert kept.saving
    assert set(Store(path).latest()) == {"Q-03-b"}
    assert list(path.parent.glob("*damaged*"))


def test_a_deleted_file_is_begun_again(path: Path) -> None:
    kept = Store(path)
    path.unlink()
    kept.record(attempt())
    assert set(Store(path).latest()) == {"Q-03-a"}


def test_where_nothing_can_be_written_the_course_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    with caplog.at_level(logging.WARNING), using("en"):
        kept = Store(tmp_path / "file" / "progress.sqlite3")
        kept.record(attempt())
        kept.record(attempt("Q-03-b"))
    assert set(kept.latest()) == {"Q-03-a", "Q-03-b"}
    assert not kept.saving
    assert len(caplog.records) == 1
    assert "FA_DATA_DIR" in caplog.records[0].message


FULL_DISK = """
import resource, sys
from pathlib import Path
from fa_toolkit.errors import StoreError
from fa_toolkit.progress import Store
kept = Store(Path(sys.argv[1]))
first = {"item": "a", "kind": "quiz", "chapter": 3, "answer": 1, "score": 0, "outcome": "wrong"}
kept.record(first)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
raised = 0
for n in range(5):
    try:
        kept.record({**first, "item": f"b{n}", "answer": "x" * 20000})
    except StoreError:
        raised += 1
print(raised, kept.saving, len(kept.attempts()), kept.latest()["a"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a file size limit is a Unix thing")
def test_a_disk_that_fills_up_says_so_once(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["1", "False", "6", "1"], done.stderr
    assert "a" in Store(path).latest()


def test_a_file_of_a_newer_version_is_left_alone(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Store(path).record(attempt())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO schema_version VALUES (99, '')")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    with caplog.at_level(logging.WARNING), using("en"):
        kept = Store(path)
        kept.record(attempt("Q-03-b"))
    assert not kept.saving
    assert "newer version" in caplog.text
    assert set(kept.latest()) == {"Q-03-a", "Q-03-b"}  # what is there can still be read
    assert path.read_bytes() == before


def test_migration_starts_from_every_version_and_is_all_or_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(path).record(attempt())
    later = (*schema.MIGRATIONS, ("ALTER TABLE attempts ADD COLUMN note TEXT", "BROKEN"))
    monkeypatch.setattr(schema, "MIGRATIONS", later)
    monkeypatch.setattr(schema, "CURRENT", 2)
    with closing(files.connect(path)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            schema.migrate(connection)
        assert schema.version(connection) == 1
        assert "note" not in connection.execute("SELECT sql FROM sqlite_master").fetchall()[2][0]
    monkeypatch.setattr(schema, "MIGRATIONS", (later[0], later[1][:1]))
    assert set(Store(path).latest()) == {"Q-03-a"}
    with closing(sqlite3.connect(path)) as connection:
        assert schema.version(connection) == 2


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
