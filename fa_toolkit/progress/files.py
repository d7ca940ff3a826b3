"""Where the progress file lies, opening it, and setting a damaged one aside. No rows here."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from . import schema

BUSY_SECONDS = 15.0
NAME = "progress.sqlite3"
_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


class NewerFileError(Exception):
    """A file written by a later version of this package."""


def location() -> Path:
    """The progress file: in `FA_DATA_DIR` if set, else where the system keeps a user's data."""
    folder = os.environ.get("FA_DATA_DIR") or platformdirs.user_data_dir("fa_toolkit", False)
    return Path(folder).expanduser() / NAME


def connect(path: Path) -> sqlite3.Connection:
    """Open the file for one piece of work; several processes may do so at once."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        # an answer that was confirmed is on the disk, also after a power cut
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def damaged(error: sqlite3.Error) -> bool:
    """Whether an error says that the file itself is broken, not the disk or the moment."""
    name = getattr(error, "sqlite_errorname", None) or ""
    return name.startswith(_DAMAGE)


def prepare(path: Path) -> Path | None:
    """Make the file ready at the current version; where a damaged one was moved to, if one was.

    Raises:
        NewerFileError: if a later version wrote it; it is left as it is.
        OSError, sqlite3.Error: if the folder or file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.with_suffix(".lock")):
        aside = None
        if path.exists() and not _sound(path):
            aside = _set_aside(path)
        with closing(connect(path)) as connection:
            if schema.version(connection) > schema.CURRENT:
                raise NewerFileError(str(schema.version(connection)))
            _write_ahead(connection)
            schema.migrate(connection)
    return aside


def _sound(path: Path) -> bool:
    try:
        with closing(connect(path)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
            names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    except sqlite3.DatabaseError as error:
        if damaged(error):
            return False
        raise
    ours = not names or {"schema_version", "attempts", "learner"} <= names
    return found is not None and found[0] == "ok" and ours


def _set_aside(path: Path) -> Path:
    """Move a damaged file and its companions away under a name of their own; nothing is deleted."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    aside = path.with_name(f"{path.stem}.damaged-{stamp}{path.suffix}")
    path.rename(aside)
    for ending in ("-wal", "-shm", "-journal"):
        companion = path.with_name(path.name + ending)
        if companion.exists():
            companion.rename(aside.with_name(aside.name + ending))
    return aside


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Readers and one writer at once. A file system that cannot do so keeps the plain journal."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            busy = (getattr(error, "sqlite_errorname", "") or "").startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Only one process at a time; SQLite's own lock, which the system frees if a process dies."""
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if not damaged(error):
                raise
            # it never holds anything; emptied in place, so that whoever waits for it keeps waiting
            os.truncate(path, 0)
            lock.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            lock.execute("ROLLBACK")
