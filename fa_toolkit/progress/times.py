"""When answers were given, though clocks are set back, run ahead, or stand in another zone.

Every time is UTC. In whose file an answer was recorded and as which one there is certain; what its
clock said is not. As many clock readings as possible are believed: the longest run of them that
never goes back. The others take the time of the believed one before them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from .rows import Attempt

#: no answer is older than the course
EPOCH = datetime(2025, 1, 1, tzinfo=UTC)
#: an answer so soon after another at the same question was read off the feedback
FRESH = timedelta(minutes=5)
DAY = timedelta(days=1)


class Timed(NamedTuple):
    """An attempt and when it was made, as far as can be known."""

    attempt: Attempt
    when: datetime


def settle(attempts: Iterable[Attempt], now: datetime) -> list[Timed]:
    """Attempts from all origins with believable times, oldest first.

    Args:
        now: the present; nothing is later than that.
    """
    origins: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        origins.setdefault(attempt.origin, []).append(attempt)
    timed: list[Timed] = []
    for own in origins.values():
        own.sort(key=lambda attempt: attempt.seq)
        timed += map(Timed, own, _believed([read(a.at) for a in own], now))
    return sorted(timed, key=lambda one: one.when)


def read(at: str) -> datetime | None:
    """A time as the file holds it, in UTC; None if it says nothing."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _believed(times: Sequence[datetime | None], now: datetime) -> list[datetime]:
    """The times, those that cannot be true replaced by their believable neighbours."""
    tails: list[datetime] = []  # the earliest end of a run of each length
    ends: list[int] = []  # and where it stands
    before: dict[int, int | None] = {}
    for at, time in enumerate(times):
        if time is None or not EPOCH <= time <= now + DAY:
            continue
        length = bisect_right(tails, time)
        before[at] = ends[length - 1] if length else None
        tails[length : length + 1] = [time]
        ends[length : length + 1] = [at]
    at_last = ends[-1] if ends else None
    trusted: dict[int, datetime] = {}
    while at_last is not None:
        trusted[at_last] = min(times[at_last] or now, now)
        at_last = before[at_last]
    last = min(trusted.values(), default=now)
    found = []
    for at in range(len(times)):
        last = trusted.get(at, last)
        found.append(last)
    return found


def evidence(timed: Iterable[Timed]) -> list[Timed]:
    """The answers that show what was known: not those read off the feedback of the one before.

    A worse answer always counts, and so does one with a fatal misconception.
    """
    last: dict[str, Timed] = {}
    counted: list[Timed] = []
    for one in timed:
        before = last.get(one.attempt.item)
        last[one.attempt.item] = one
        soon = before is not None and one.when - before.when < FRESH
        worse = before is not None and one.attempt.score < before.attempt.score
        if not soon or worse or one.attempt.fatal:
            counted.append(one)
    return counted


def local_date(when: datetime, zone: tzinfo | None = None) -> str:
    """The day on the learner's own calendar."""
    return when.astimezone(zone).date().isoformat()
