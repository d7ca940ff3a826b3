"""What the learner plans: the day of an interview. One value a name; an empty one is none."""

from __future__ import annotations

from datetime import date

from . import schema
from .store import Store

_INTERVIEW = "interview"


def plan_interview(store: Store, day: date | None) -> None:
    """Keep the day of the interview, or forget it."""
    query = "INSERT OR REPLACE INTO plans (name, value, at) VALUES (?, ?, ?)"
    values = (_INTERVIEW, day.isoformat() if day else "", schema.now())
    store._do(lambda c: c.execute(query, values))


def planned_interview(store: Store) -> date | None:
    """The day of the interview, None if none was named."""
    query = "SELECT value FROM plans WHERE name = ?"
    found = store._do(lambda c: c.execute(query, (_INTERVIEW,)).fetchone())
    try:
        return date.fromisoformat(found[0]) if found else None
    except ValueError:
        return None
