"""The time of a call is what it computes or waits, not what others take from it."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from fa_toolkit.exercises import clock, limits


@pytest.mark.parametrize(
    ("wall", "used", "over"),
    [
        (0.9, 0.9, False),
        (1.0, 1.0, True),  # it computes
        (3.0, 0.9, False),  # it computes on a busy machine
        (1.0, 0.0, True),  # it sleeps
        (1.0, 0.05, True),  # it polls
        (6.0, 0.9, True),  # nobody waits for ever
    ],
)
def test_when_a_call_is_over(wall: float, used: float, over: bool) -> None:
    assert clock.is_over(1.0, wall, used) is over


def test_all_calls_together_pay_for_what_they_compute_or_wait() -> None:
    assert clock.charge(2.0, 1.5) == 1.5
    assert clock.charge(2.0, 0.0) == 2.0  # asleep
    assert clock.charge(12.0, 1.3) == 2.0  # starved; it cannot go on without end
    assert clock.charge(1.0, float("inf")) == 1.0  # a number out of the learner's process


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("00:07", 7), ("01:02:03", 3723), ("2-00:00:01", 172801), ("0:03.25", 3.25)],
)
def test_processor_time_as_ps_tells_it(told: str, seconds: float) -> None:
    assert limits.seconds_of(told) == seconds


@pytest.mark.skipif(not hasattr(os, "setsid"), reason="no sessions here")
def test_the_processor_time_of_a_session_is_seen_from_outside() -> None:
    works = "import time\nwhile time.process_time() < 0.4: pass\nprint(flush=True)\ntime.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", works], stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        use = limits.use_of(process.pid)
        assert 0.3 <= use.seconds < 5 and use.tasks == 1 and use.memory > 1 << 20
        time.sleep(0.2)
        assert limits.use_of(process.pid).seconds - use.seconds < 0.1
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]
