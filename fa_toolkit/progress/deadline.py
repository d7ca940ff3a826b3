"""Review towards a day: what would come back too late for an interview comes back shortly before it.

FSRS plans for months: what is right on the first and the third day is not due again for more than
a week. With an interview in between, such questions are spread over the last days, those known
best first, so that what is known least is asked on the eve. Knows no store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from math import ceil
from typing import TYPE_CHECKING

from .times import local_date

if TYPE_CHECKING:
    from .schedule import Review

#: questions for one day, and the most days before the interview that are kept for them
A_DAY, MOST_DAYS = 20, 3


def brought_forward(
    reviews: Sequence[Review],
    last: Mapping[str, datetime],
    interview: date,
    now: datetime,
    zone: tzinfo | None = None,
) -> list[Review]:
    """The reviews, with those that are due after the eve of the interview set before it.

    Args:
        last: when each question was answered last; who answered it in those last days is done.
    """
    today, eve = _day(now, zone), interview - timedelta(days=1)
    first = eve - timedelta(days=min(MOST_DAYS, max(1, ceil(len(reviews) / A_DAY))) - 1)
    if today > eve:
        return list(reviews)
    late = [
        review
        for review in reviews
        if _day(review.due, zone) > eve and _day(last[review.item], zone) < first
    ]
    late.sort(key=lambda review: (-review.recall, review.item))
    start = max(first, today)
    share = ceil(len(late) / ((eve - start).days + 1)) or 1
    moved = {
        review.item: _begins(start + timedelta(days=at // share), zone)
        for at, review in enumerate(late)
    }
    return [replace(r, due=moved[r.item]) if r.item in moved else r for r in reviews]


def _day(when: datetime, zone: tzinfo | None) -> date:
    return date.fromisoformat(local_date(when, zone))


def _begins(day: date, zone: tzinfo | None) -> datetime:
    """Midnight of a day where the learner is, in UTC."""
    local = datetime.combine(day, time()).replace(tzinfo=zone)
    return (local if zone else local.astimezone()).astimezone(UTC)
