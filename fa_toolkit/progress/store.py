"""Keep every answer, safely: several notebooks at once, a kill at any moment, a full disk.

Answers are only ever added. If the file cannot be used the course goes on with a store in memory
and says so once; a damaged file is moved aside, never overwritten.
"""

from __future__ import annotations

import functools
import json
import logging
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from .. import __version__
from ..errors import ArgumentError, StoreError
from ..language import Text, say
from . import files, schema
from .summary import ChapterSummary, Summary

logger = logging.getLogger(__name__)
_Result = TypeVar("_Result")

KINDS = ("quiz", "exercise")
_COLUMNS = "uuid, item, kind, chapter, lang, answer, score, outcome, version, at"
_LATEST = f"""SELECT {_COLUMNS} FROM attempts
    WHERE id IN (SELECT max(id) FROM attempts GROUP BY item)"""

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


class Attempt(NamedTuple):
    """One answer as it is kept."""

    uuid: str
    item: str
    kind: str
    chapter: int
    lang: str
    answer: Any
    score: float
    outcome: str
    version: str
    at: str


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
                they are known, lang and version.

        Raises:
            ArgumentError: if one of them is missing or not what it must be.
            StoreError: once, when saving has become impossible; the answer is kept in memory.
        """
        row = _row(attempt)

        def insert(connection: sqlite3.Connection) -> None:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO attempts ({_COLUMNS}) VALUES ({marks})", row)

        was_saving = self.saving
        self._do(insert)
        if was_saving and not self.saving:
            raise StoreError(
                str(self.path),
                expected=Text("a file that can be written", "可写的文件"),
                got=self.problem,
            )
        return str(row[0])

    def latest(self, chapter: int | None = None, kind: str | None = None) -> dict[str, Any]:
        """The latest answer to each item, of one chapter or kind or of all."""
        return {attempt.item: attempt.answer for attempt in self.latest_attempts(chapter, kind)}

    def latest_attempts(self, chapter: int | None = None, kind: str | None = None) -> list[Attempt]:
        """The latest attempt at each item, oldest first."""
        found = self._do(lambda c: c.execute(f"{_LATEST} ORDER BY id").fetchall())
        attempts = [_attempt(row) for row in found]
        return [
            attempt
            for attempt in attempts
            if chapter in (None, attempt.chapter) and kind in (None, attempt.kind)
        ]

    def attempts(self, item: str | None = None) -> list[Attempt]:
        """Every attempt at one item, or at all, oldest first."""
        query = f"SELECT {_COLUMNS} FROM attempts WHERE ? IS NULL OR item = ? ORDER BY id"
        return [
            _attempt(row) for row in self._do(lambda c: c.execute(query, (item, item)).fetchall())
        ]

    def summary(self) -> Summary:
        """What was answered, chapter by chapter."""
        chapters: dict[int, list[Attempt]] = {}
        for attempt in self.latest_attempts():
            chapters.setdefault(attempt.chapter, []).append(attempt)
        return Summary(tuple(_chapter(number, chapters[number]) for number in sorted(chapters)))

    def reset(self, *, chapter: int | None = None, item: str | None = None) -> int:
        """Forget the answers of one chapter or item, or all; how many there were.

        Whoever calls this asks the learner first.
        """
        wanted = "(? IS NULL OR chapter = ?) AND (? IS NULL OR item = ?)"
        values = (chapter, chapter, item, item)
        query = f"DELETE FROM attempts WHERE {wanted}"
        return int(self._do(lambda c: c.execute(query, values).rowcount))

    def merge(self, attempts: list[Attempt]) -> int:
        """Add attempts that are not here yet, told apart by uuid, all or none; how many were new."""
        rows = [(*a[:5], json.dumps(a.answer), *a[6:]) for a in attempts]

        def insert(connection: sqlite3.Connection) -> int:
            marks = ", ".join("?" * len(Attempt._fields))
            query = f"INSERT OR IGNORE INTO attempts ({_COLUMNS}) VALUES ({marks})"
            with _transaction(connection):
                return sum(connection.execute(query, row).rowcount for row in rows)

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
                    rows = old.execute(f"SELECT {_COLUMNS} FROM attempts ORDER BY id").fetchall()
                    learner = old.execute("SELECT id FROM learner").fetchone()
            except sqlite3.Error:
                continue
            marks = ", ".join("?" * len(Attempt._fields))
            memory.executemany(f"INSERT INTO attempts ({_COLUMNS}) VALUES ({marks})", rows)
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


def _row(attempt: Mapping[str, Any]) -> tuple[Any, ...]:
    for name in ("item", "kind", "chapter", "answer", "score", "outcome"):
        if name not in attempt:
            raise ArgumentError(
                f"attempt[{name!r}]",
                expected=Text("a value", "一个值"),
                got=Text("nothing", "没有"),
            )
    kind, score = attempt["kind"], float(attempt["score"])
    if kind not in KINDS:
        raise ArgumentError("attempt['kind']", expected=" | ".join(KINDS), got=repr(kind))
    if not 0 <= score <= 100:
        raise ArgumentError("attempt['score']", expected="0..100", got=repr(score))
    return (
        uuid.uuid4().hex,
        str(attempt["item"]),
        kind,
        int(attempt["chapter"]),
        str(attempt.get("lang", "en")),
        json.dumps(attempt["answer"], default=str),
        score,
        str(attempt["outcome"]),
        str(attempt.get("version", __version__)),
        schema.now(),
    )


def _attempt(row: tuple[Any, ...]) -> Attempt:
    attempt = Attempt(*row)
    return attempt._replace(answer=json.loads(attempt.answer))


def _chapter(number: int, latest: list[Attempt]) -> ChapterSummary:
    scores = [attempt.score for attempt in latest if attempt.kind == "quiz"]
    tried = [attempt.outcome for attempt in latest if attempt.kind == "exercise"]
    return ChapterSummary(
        chapter=number,
        questions=len(scores),
        right=sum(score == 100 for score in scores),
        mean=sum(scores) / len(scores) if scores else 0.0,
        exercises=len(tried),
        passed=tried.count("passed"),
        last=max(attempt.at for attempt in latest),
    )


@functools.cache
def _store_at(path: Path) -> Store:
    return Store(path)


def store() -> Store:
    """The learner's store, one for each file and process."""
    return _store_at(files.location())
