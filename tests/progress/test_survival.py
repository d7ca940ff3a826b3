"""What the store survives: other processes, a kill, damage, a full disk, a newer version."""

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
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from attempts import attempt

from fa_toolkit.language import using
from fa_toolkit.progress import Store
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


def start_writer(path: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


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


def test_two_processes_that_meet_a_damaged_file_set_it_aside_once(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"not a database" * 1000)
    writers = [start_writer(path, f"w{n}", 5) for n in range(3)]
    ended = [writer.communicate(timeout=120) for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 3, ended
    assert len(Store(path).attempts()) == 15
    (aside,) = path.parent.glob("*damaged*")
    assert aside.read_bytes() == b"not a database" * 1000


IMPORTER = """
import sys
from pathlib import Path
from fa_toolkit.progress import Store
from fa_toolkit.progress.exchange import import_from
kept = Store(Path(sys.argv[1]))
print(len(kept.attempts()), flush=True)
import_from(kept, Path(sys.argv[2]))
"""


def test_a_kill_while_importing_leaves_all_or_nothing(path: Path, tmp_path: Path) -> None:
    source = Store(tmp_path / "other" / "progress.sqlite3")
    source.record(attempt())
    export_to(source, tmp_path / "one.json")
    data = json.loads((tmp_path / "one.json").read_text("utf-8"))
    (first,) = data["attempts"]
    data["attempts"] = [{**first, "item": f"q{n}", "uuid": str(uuid4())} for n in range(2000)]
    (tmp_path / "all.json").write_text(json.dumps(data), encoding="utf-8")
    kept = Store(path)
    kept.record(attempt("mine"))
    chance = random.Random(3)
    for _ in range(3):
        command = [sys.executable, "-c", IMPORTER, str(path), str(tmp_path / "all.json")]
        importer = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert importer.stdout is not None
        importer.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.1))
        importer.send_signal(signal.SIGKILL)
        importer.communicate()
        assert len(Store(path).attempts()) in (1, 2001)
    import_from(Store(path), tmp_path / "all.json")
    assert len(Store(path).attempts()) == 2001


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


def test_a_damaged_lock_is_no_damaged_progress(path: Path) -> None:
    Store(path).record(attempt("Q-01-a"))
    path.with_suffix(".lock").write_bytes(b"\x07 not a database" * 300)
    kept = Store(path)
    assert kept.saving and len(kept.attempts()) == 1
    assert not list(path.parent.glob("*damaged*"))
