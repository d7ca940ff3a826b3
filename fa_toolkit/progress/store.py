"""Keep every answer, safely: several notebooks at once, a kill at any moment, a full disk.

Answers are only ever added. If the file cannot be used the course goes on with a store in memory
and says so once; a damaged file is moved aside, never overwritten.
"""

from __future__ import annotations

import functools
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from .. import __version__
from ..errors import StoreError
from ..language import Text, say
from . import files, rows, schema, times
from .rows import Attempt, Interview, Said
from .summary import Summary, summarise

logger = logging.getLogger(__name__)
_Result = TypeVar("_Result")

_ASIDE = Text(
    "The progress file was damaged. It was moved to {aside}, untouched, and a new one begun.",
    "进度文件已损坏，原样移到了 {aside}，并新建了一份。",
)
_NEWER = Text(
    "The progress file {path} was written by a newer version of fa_toolkit, so answers of this "
    "session are not saved. Update fa_toolkit, or set FA_DATA_DIR to another folder.",
    "进度文件 {path} 是更新版本的 fa_toolkit 写的，所以这次的作答不会保存。"
    "请升级 fa_toolkit，或用 FA_DATA_DIR 指定别的文件夹。",
)
_UNUSABLE = Text(
    "Progress cannot be saved in {path} ({reason}). The course goes on; answers of this session "
    "are forgotten when the kernel stops. FA_DATA_DIR can name another folder.",
    "进度没法存到 {path}（{reason}）。课程可以照常进行，但 Jupyter 内核停止后这次的作答就没有了。"
    "可以用 FA_DATA_DIR 指定别的文件夹。",
)


class Store:
    """The learner's answers.

    Args:
        path: the file; None for a store in memory only.

    Attributes:
        problem: why answers are not saved, "" while they are.
        learner: a random name of this learner, the same from day to day; says nothing of who it is.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path, self.problem = path, ""
        self._memory: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._open()
        self.learner: str = self._do(lambda c: c.execute("SELECT id FROM learner").fetchone()[0])

    @property
    def saving(self) -> bool:
        """Whether answers reach the disk."""
        return self._memory is None

    def record(self, attempt: Mapping[str, Any]) -> str:
        """Keep one answer and return its uuid.

        Args:
            attempt: item, kind ("quiz" or "exercise"), chapter, answer, score, outcome, and, if
                they are known, lang, version and detail (what else the verdict said).

        Raises:
            ArgumentError: if one of them is missing or not what it must be.
            StoreError: once, when saving has become impossible; the answer is kept in memory.
        """
        made = rows.new_attempt(attempt)
        values = rows.packed(made._replace(origin=self.learner))

        def insert(connection: sqlite3.Connection) -> None:
            with _transaction(connection):
                added = connection.execute(_insert("attempts", rows.ATTEMPT), values).lastrowid
                connection.execute("UPDATE attempts SET seq = ? WHERE id = ?", (added, added))

        self._write(insert)
        return made.uuid

    def note_said(self, said: Mapping[str, Any]) -> str:
        """Keep "I did say this": item, point, answer, lang. It changes no score and no schedule."""
        made = rows.new_said(said)
        self._write(lambda c: c.execute(_insert("said_it", rows.SAID), made))
        return made.uuid

    def said(self) -> list[Said]:
        """Every point that was held to have been made though undetected, oldest first."""
        query = f"SELECT {rows.SAID} FROM said_it ORDER BY id"
        return [Said(*row) for row in self._do(lambda c: c.execute(query).fetchall())]

    def keep_interview(self, name: str, report: Mapping[str, Any], *, finished: bool) -> None:
        """Keep the report of an interview; a later one of the same name takes its place."""
        made = Interview(name, finished, report, __version__, schema.now())
        query = (
            f"{_insert('interviews', rows.INTERVIEW)} ON CONFLICT (uuid) DO UPDATE SET "
            "finished = excluded.finished, report = excluded.report, at = excluded.at"
        )
        self._write(lambda c: c.execute(query, rows.packed(made)))

    def interviews(self) -> list[Interview]:
        """The reports of all interviews, oldest first."""
        query = f"SELECT {rows.INTERVIEW} FROM interviews ORDER BY id"
        return [rows.interview(row) for row in self._do(lambda c: c.execute(query).fetchall())]

    def _write(self, work: Callable[[sqlite3.Connection], object]) -> None:
        was_saving = self.saving
        self._do(work)
        if was_saving and not self.saving:
            raise StoreError(
                str(self.path),
                expected=Text("a file that can be written", "可写的文件"),
                got=self.problem,
            )

    def latest(self, chapter: int | None = None, kind: str | None = None) -> dict[str, Any]:
        """The latest answer to each item, of one chapter or kind or of all."""
        return {attempt.item: attempt.answer for attempt in self.latest_attempts(chapter, kind)}

    def latest_attempts(self, chapter: int | None = None, kind: str | None = None) -> list[Attempt]:
        """The latest attempt at each item, oldest first."""
        latest: dict[str, Attempt] = {}
        for attempt in self.ordered():
            latest.pop(attempt.item, None)
            latest[attempt.item] = attempt
        return [
            attempt
            for attempt in latest.values()
            if chapter in (None, attempt.chapter) and kind in (None, attempt.kind)
        ]

    def ordered(self) -> list[Attempt]:
        """Every attempt in the order it was made, those of other machines in their place."""
        return [one.attempt for one in times.settle(self.attempts(), datetime.now(UTC))]

    def attempts(self, item: str | None = None) -> list[Attempt]:
        """Every attempt at one item, or at all, as they came into the file."""
        query = f"SELECT {rows.ATTEMPT} FROM attempts WHERE ? IS NULL OR item = ? ORDER BY id"
        found = self._do(lambda c: c.execute(query, (item, item)).fetchall())
        return [rows.attempt(row) for row in found]

    def summary(self) -> Summary:
        """What was answered, chapter by chapter."""
        return summarise(self.latest_attempts())

    def reset(self, *, chapter: int | None = None, item: str | None = None) -> int:
        """Forget the answers of one chapter or item, or everything; how many answers there were.

        Whoever calls this asks the learner first.
        """
        wanted = "(? IS NULL OR chapter = ?) AND (? IS NULL OR item = ?)"
        values = (chapter, chapter, item, item)

        def delete(connection: sqlite3.Connection) -> int:
            with _transaction(connection):
                if chapter is None and item is None:
                    connection.execute("DELETE FROM said_it")
                    connection.execute("DELETE FROM interviews")
                    connection.execute("DELETE FROM reading")
                    connection.execute("DELETE FROM plans")
                query = f"DELETE FROM attempts WHERE {wanted}"
                return int(connection.execute(query, values).rowcount)

        return self._do(delete)

    def merge(
        self,
        attempts: Sequence[Attempt],
        said: Sequence[Said] = (),
        interviews: Sequence[Interview] = (),
    ) -> int:
        """Add what is not here yet, told apart by uuid, all or none; how many answers were new."""

        def insert(connection: sqlite3.Connection) -> int:
            new = 0
            with _transaction(connection):
                for row in attempts:
                    query = _insert("attempts", rows.ATTEMPT, "OR IGNORE")
                    new += connection.execute(query, rows.packed(row)).rowcount
                for name, columns, others in (
                    ("said_it", rows.SAID, said),
                    ("interviews", rows.INTERVIEW, interviews),
                ):
                    query = _insert(name, columns, "OR IGNORE")
                    connection.executemany(query, [rows.packed(row) for row in others])
            return new

        return self._do(insert)

    def _open(self) -> None:
        if self.path is None:
            self._fall_back("")
            return
        try:
            aside = files.prepare(self.path)
        except files.NewerFileError:
            self._fall_back(say(_NEWER, path=self.path))
        except (OSError, sqlite3.Error) as error:
            self._fall_back(say(_UNUSABLE, path=self.path, reason=error))
        else:
            if aside is not None:
                logger.warning(say(_ASIDE, aside=aside))
            return
        if self.problem:
            logger.warning(self.problem)

    def _fall_back(self, problem: str) -> None:
        """Go on in memory with what can still be read."""
        self.problem = problem
        memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        schema.migrate(memory)
        if self.path is not None and self.path.exists():
            self._copy_readable(memory)
        self._memory = memory

    def _copy_readable(self, memory: sqlite3.Connection) -> None:
        for mode in ("mode=ro", "immutable=1"):
            try:
                address = f"{self.path.resolve().as_uri()}?{mode}"  # type: ignore[union-attr]
                with closing(sqlite3.connect(address, uri=True, timeout=1)) as old:
                    for table in ("attempts", "said_it", "interviews", "reading", "plans"):
                        _copy(table, old, memory)
                    learner = old.execute("SELECT id FROM learner").fetchone()
            except sqlite3.Error:
                continue
            if learner:
                memory.execute("UPDATE learner SET id = ?", learner)
            return

    def _do(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Carry out one piece of work on the file, or in memory once the file has failed."""
        mended = False
        with self._lock:
            while self._memory is None:
                assert self.path is not None
                try:
                    with closing(files.connect(self.path)) as connection:
                        return work(connection)
                except sqlite3.DatabaseError as error:
                    lost = files.damaged(error) or "no such table" in str(error)
                    if lost and not mended:
                        mended = True
                        self._open()  # moves what is damaged aside and begins a new file
                    elif lost or isinstance(error, sqlite3.OperationalError):
                        self._fall_back(say(_UNUSABLE, path=self.path, reason=error))
                    else:
                        raise
            return work(self._memory)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _insert(table: str, columns: str, how: str = "") -> str:
    marks = ", ".join("?" * len(columns.split(", ")))
    return f"INSERT {how} INTO {table} ({columns}) VALUES ({marks})"


def _copy(table: str, old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    """The columns that both have; an older file lacks some, or the whole table."""
    theirs = [row[1] for row in old.execute(f"PRAGMA table_info({table})")]
    ours = [row[1] for row in new.execute(f"PRAGMA table_info({table})")]
    columns = ", ".join(name for name in ours if name in theirs)
    if columns:
        found = old.execute(f"SELECT {columns} FROM {table} ORDER BY id").fetchall()
        new.executemany(_insert(table, columns, "OR IGNORE"), found)


@functools.cache
def _store_at(path: Path) -> Store:
    return Store(path)


def store() -> Store:
    """The learner's store, one for each file and process."""
    return _store_at(files.location())
