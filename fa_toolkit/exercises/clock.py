"""When the time of a call is over: by the processor time it used, not by the clock on the wall.

On a machine that others use too, a right answer may wait longer than it computes. A call that waits
by itself (a sleep, a lock) uses no processor; it is stopped by the wall clock.
"""

from __future__ import annotations

import time

#: Times its limit that a call may take on the wall, however little of the processor it gets.
PATIENCE = 6.0
#: Share of the wall time below which a call waits rather than computes.
_WAITS = 0.1


def is_over(limit: float, wall: float, used: float) -> bool:
    """Whether a call with `limit` seconds is to be stopped.

    Args:
        limit: seconds of processor time it may use.
        wall: seconds since it began.
        used: seconds of processor time it has used.
    """
    if wall < limit:
        return False
    return used >= limit or wall >= PATIENCE * limit or used < _WAITS * wall


def charge(wall: float, used: float) -> float:
    """Seconds that a finished call takes off the time of all calls together."""
    return wall if used < _WAITS * wall else min(wall, max(used, wall / PATIENCE))


class Watch:
    """Started with a call, in the thread that runs it."""

    def __init__(self) -> None:
        self._wall, self._used = time.monotonic(), time.thread_time()

    def seconds(self) -> tuple[float, float]:
        """Wall time and this thread's processor time since then."""
        return time.monotonic() - self._wall, time.thread_time() - self._used
