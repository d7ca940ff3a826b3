"""Files and exports of schema version 1, as that version wrote them, in today's store."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from attempts import attempt

from fa_toolkit.progress import Store, schema
from fa_toolkit.progress.exchange import export_to, import_from

DATA = Path(__file__).parent / "data"
ITEMS = ["Q-03-rescale-factor", "Q-03-rescale-factor", "03.merge", "O3", "Q-01-x"]


@pytest.fixture
def old(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    shutil.copy(DATA / "version_1.sqlite3", path)
    return path


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return schema.version(connection)


def test_a_file_of_version_1_keeps_all_it_holds(old: Path) -> None:
    assert version(old) == 1
    kept = Store(old)
    assert version(old) == schema.CURRENT == 4
    found = kept.attempts()
    assert [a.item for a in found] == ITEMS
    assert found[3].answer == "它是近似算法，所以省显存。"
    assert found[4].answer == {"行": [1, None]}
    assert {a.origin for a in found} == {kept.learner} == {"5f0e8c1d2b3a49f6a7c8d9e0f1a2b3c4"}
    assert [a.seq for a in found] == [1, 2, 3, 4, 5]
    assert all(a.detail == {} and a.fatal == () for a in found)
    kept.record(attempt(detail={"fatal": ["approx"]}))
    kept.note_said({"item": "O3", "point": "time", "answer": "x"})
    kept.keep_interview("one", {"score": 3}, finished=False)
    again = Store(old)
    assert again.attempts()[-1].fatal == ("approx",) and again.attempts()[-1].seq == 6
    assert again.said()[0].point == "time" and again.interviews()[0].report == {"score": 3}


def test_an_export_of_version_1_is_read_and_read_once(path: Path) -> None:
    kept = Store(path)
    kept.record(attempt("Q-09-own"))
    source = DATA / "version_1.json"
    assert (import_from(kept, source), import_from(kept, source)) == (5, 0)
    assert [a.item for a in kept.ordered()] == [*ITEMS, "Q-09-own"], "older answers come before"
    assert kept.latest()["Q-03-rescale-factor"] == "abd"


def test_file_and_export_of_version_1_are_the_same_answers(old: Path) -> None:
    assert import_from(Store(old), DATA / "version_1.json") == 0


def test_everything_survives_an_export(path: Path, tmp_path: Path) -> None:
    kept, other = Store(path), Store(tmp_path / "b" / "progress.sqlite3")
    kept.record(attempt(detail={"fatal": ["f"], "missing": ["a"]}, answer="\ud800 混"))
    kept.note_said({"item": "O3", "point": "time", "answer": "我说到了", "lang": "zh"})
    kept.keep_interview("one", {"questions": [{"score": 50}]}, finished=True)
    export_to(kept, tmp_path / "all.json")
    import_from(other, tmp_path / "all.json")
    assert other.attempts() == kept.attempts()
    assert other.said() == kept.said()
    assert other.interviews() == kept.interviews()
    other.keep_interview("one", {"later": 1}, finished=True)
    import_from(other, tmp_path / "all.json")
    assert other.interviews()[0].report == {"later": 1}, "an import never takes the place of ours"


def test_a_reset_takes_claims_and_interviews_too(path: Path) -> None:
    kept = Store(path)
    kept.record(attempt())
    kept.note_said({"item": "O3", "point": "time"})
    kept.keep_interview("one", {}, finished=True)
    assert kept.reset(chapter=3) == 1
    assert kept.said() and kept.interviews(), "a chapter's reset is about its answers"
    assert kept.reset() == 0
    assert not kept.said() and not kept.interviews()


def test_a_file_that_cannot_be_migrated_is_still_read(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    whole = schema.migrate
    calls = iter([refuse, whole])  # the file first, then the store in memory
    monkeypatch.setattr(schema, "migrate", lambda c: next(calls)(c))
    kept = Store(old)
    assert not kept.saving
    assert [a.item for a in kept.attempts()] == ITEMS
    assert version(old) == 1


MIGRATE = """
import sys
from pathlib import Path
from fa_toolkit.progress import Store
sys.stdout.write("begin\\n"); sys.stdout.flush()
kept = Store(Path(sys.argv[1]))
for n in range(10_000):
    kept.record({"item": f"n{n}", "kind": "quiz", "chapter": 3, "answer": 1, "score": 1,
                 "outcome": "part", "detail": {"fatal": ["f"]}})
    kept.keep_interview("one", {"n": n}, finished=False)
    kept.note_said({"item": "O3", "point": f"p{n}"})
    sys.stdout.write(f"{n}\\n"); sys.stdout.flush()
"""


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is a Unix thing")
@pytest.mark.parametrize("wait", [0.0, 0.002, 0.01, 0.03, 0.1, 0.25])
def test_a_kill_while_migrating_or_writing_loses_nothing(old: Path, wait: float) -> None:
    command = [sys.executable, "-c", MIGRATE, str(old)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.readline()
    time.sleep(wait)
    running.send_signal(signal.SIGKILL)
    confirmed = len(running.communicate()[0].splitlines())
    kept = Store(old)
    assert kept.saving and version(old) == schema.CURRENT
    found = kept.attempts()
    assert [a.item for a in found[:5]] == ITEMS
    assert len(found) - 5 - confirmed in (0, 1)
    assert len(kept.said()) - confirmed in (0, 1)
    assert all(a.origin == kept.learner and a.seq for a in found)
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert not list(old.parent.glob("*damaged*"))


def test_two_copies_of_a_notebook_share_one_history(path: Path) -> None:
    one, two = Store(path), Store(path)
    one.record(attempt("Q-03-a", answer="from the first"))
    two.record(attempt("Q-03-a", answer="from the copy"))
    one.keep_interview("x", {"by": 1}, finished=False)
    two.keep_interview("y", {"by": 2}, finished=False)
    assert one.latest() == two.latest() == {"Q-03-a": "from the copy"}
    assert [a.seq for a in one.attempts()] == [1, 2]
    assert [i.report for i in two.interviews()] == [{"by": 1}, {"by": 2}]
