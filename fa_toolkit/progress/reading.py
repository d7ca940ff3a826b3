"""Which cells of a chapter were run, and which was the last: where to open the course again."""

from __future__ import annotations

from typing import NamedTuple

from . import schema
from .store import Store


class Place(NamedTuple):
    """Where the learner was last."""

    chapter: int
    cell: str
    lang: str
    at: str  # UTC, ISO 8601


def note(store: Store, chapter: int, cell: str, lang: str) -> None:
    """Keep that a cell was run; it is the place now. Order is kept by number, clocks may be wrong."""
    # REPLACE gives the row a new, highest id
    query = "INSERT OR REPLACE INTO reading (chapter, cell, lang, at) VALUES (?, ?, ?, ?)"
    store._do(lambda c: c.execute(query, (chapter, cell, lang, schema.now())))


def cells(store: Store, chapter: int) -> frozenset[str]:
    """The cells of a chapter that were ever run."""
    query = "SELECT cell FROM reading WHERE chapter = ?"
    return frozenset(row[0] for row in store._do(lambda c: c.execute(query, (chapter,)).fetchall()))


def chapters(store: Store) -> frozenset[int]:
    """The chapters of which a cell was ever run."""
    query = "SELECT DISTINCT chapter FROM reading"
    return frozenset(row[0] for row in store._do(lambda c: c.execute(query).fetchall()))


def place(store: Store, chapter: int | None = None) -> Place | None:
    """The last cell that was run, in one chapter or in all; None before the first."""
    query = (
        "SELECT chapter, cell, lang, at FROM reading WHERE ? IS NULL OR chapter = ? "
        "ORDER BY id DESC LIMIT 1"
    )
    found = store._do(lambda c: c.execute(query, (chapter, chapter)).fetchone())
    return Place(*found) if found else None
