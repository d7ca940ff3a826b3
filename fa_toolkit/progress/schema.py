"""The tables of the progress file and the way from each version to the next."""

from __future__ import annotations

import sqlite3
import uuid
from datetime import UTC, datetime

#: Statements that lead from version n to n + 1, n being the place in this tuple.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE schema_version (version INTEGER NOT NULL, at TEXT NOT NULL)",
        "CREATE TABLE learner (id TEXT NOT NULL)",
        """CREATE TABLE attempts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,  -- the order of answers; clocks may be set back
            uuid TEXT NOT NULL UNIQUE,             -- tells one answer in two exports
            item TEXT NOT NULL,
            kind TEXT NOT NULL,
            chapter INTEGER NOT NULL,
            lang TEXT NOT NULL,
            answer TEXT NOT NULL,                  -- JSON
            score REAL NOT NULL,                   -- 0..100
            outcome TEXT NOT NULL,
            version TEXT NOT NULL,                 -- of this package
            at TEXT NOT NULL                       -- UTC, ISO 8601
        )""",
        "CREATE INDEX attempts_of_item ON attempts (item, id)",
    ),
    (
        # what a verdict said besides its score: fatal misconceptions, points missed, seconds
        "ALTER TABLE attempts ADD COLUMN detail TEXT NOT NULL DEFAULT '{}'",
        # where an answer was first recorded and as which one there: its order, whatever clocks say
        "ALTER TABLE attempts ADD COLUMN origin TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE attempts ADD COLUMN seq INTEGER NOT NULL DEFAULT 0",
        "UPDATE attempts SET seq = id, origin = coalesce((SELECT id FROM learner), '')",
        """CREATE TABLE said_it (                     -- "I did say this": never counts as mastery
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uuid TEXT NOT NULL UNIQUE,
            item TEXT NOT NULL,
            point TEXT NOT NULL,
            lang TEXT NOT NULL,
            answer TEXT NOT NULL,
            version TEXT NOT NULL,
            at TEXT NOT NULL
        )""",
        """CREATE TABLE interviews (                  -- written anew after every answer
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uuid TEXT NOT NULL UNIQUE,
            finished INTEGER NOT NULL,
            report TEXT NOT NULL,                  -- JSON
            version TEXT NOT NULL,
            at TEXT NOT NULL
        )""",
    ),
    (
        """CREATE TABLE reading (                     -- cells that were run; the highest id is the last
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            chapter INTEGER NOT NULL,
            cell TEXT NOT NULL,
            lang TEXT NOT NULL,
            at TEXT NOT NULL,
            UNIQUE (chapter, cell)
        )""",
    ),
    (
        """CREATE TABLE plans (                       -- the day of an interview
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            value TEXT NOT NULL,
            at TEXT NOT NULL
        )""",
    ),
)
CURRENT = len(MIGRATIONS)


def now() -> str:
    """The present moment in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def version(connection: sqlite3.Connection) -> int:
    """The schema version of an open file; 0 for an empty one."""
    table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
    if connection.execute(table).fetchone() is None:
        return 0
    found = connection.execute("SELECT max(version) FROM schema_version").fetchone()[0]
    return int(found or 0)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring an open file to the current version, all of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in range(version(connection), CURRENT):
            for statement in MIGRATIONS[step]:
                connection.execute(statement)
            connection.execute("INSERT INTO schema_version VALUES (?, ?)", (step + 1, now()))
        if connection.execute("SELECT 1 FROM learner").fetchone() is None:
            connection.execute("INSERT INTO learner VALUES (?)", (uuid.uuid4().hex,))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
