"""Calls of the notebooks that are about the course as a whole: tracks, GPU cells, interview, progress.

They belong to `fa_toolkit.course`, which hands them on; what they need is imported when they run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def track(name: str = "short") -> None:
    """Show the parts of a track, with minutes, links and what is done of them.

    Args:
        name: "short" (2 hours), "interview" or "full".

    Raises:
        UnknownNameError: if there is no such track.
    """
    from .strip import track_card

    track_card(name).show()


def gpu(choice: str | None = None) -> None:
    """Say how the cells that need a GPU answer; with `choice`, decide it.

    Args:
        choice: "auto" (measure where there is a GPU), "no" (show what is recorded), "yes" (measure,
            or say that it cannot be done). FA_GPU in the environment decides for every notebook.

    Raises:
        ArgumentError: if it is another word.
    """
    from . import gpu_choice as cells

    if choice is not None:
        cells.choose(choice)
    cells.choice_card().show()


def on_gpu(cell: str) -> None:
    """A cell that needs a GPU: measured where there is one, else one sentence and what is recorded.

    Args:
        cell: its id, such as "06.forward".

    Raises:
        UnknownNameError: if there is no such cell.
        BackendUnavailable: if `fa.course.gpu("yes")` was said and there is no GPU.
    """
    from . import gpu_choice as cells

    cells.show(cell)


def interview(
    *,
    minutes: int | None = None,
    topics: Sequence[str] = (),
    level: str | None = None,
    everything: bool = False,
) -> Any:
    """A mock interview as a card: choose, answer against the clock, read the report.

    It asks about the chapters that were opened, about all of them if none was.

    Args:
        minutes: chosen beforehand, as are `topics` (ids) and `level` ("adaptive", "warm-up",
            "core", "senior"); the card lets the candidate change all of them.
        everything: ask about all chapters, opened or not.

    Raises:
        ArgumentError, UnknownNameError: if there is no such interview.
    """
    from ..interview.widget import InterviewCard
    from .rehearsal import interview_state, plan

    held = interview_state()
    held.plan = plan(minutes, topics, level, held.bank, () if everything else held.opened)
    return InterviewCard(held)


def last_interview() -> None:
    """Show the report of the latest mock interview again, also of one that was cut off."""
    from .rehearsal import last_report_card

    last_report_card().show()


def interview_on(day: str | None) -> None:
    """Plan the review towards the day of your interview: nothing comes back after it, all before.

    Args:
        day: year-month-day, "2026-12-08"; None forgets the day.

    Raises:
        ArgumentError: if it is no day to come.
    """
    from .cards import Card
    from .rehearsal import plan_by

    text = plan_by(day)
    Card(f"<p>{text}</p>", text).show()


def review(limit: int = 20) -> Any:
    """The questions that are due, likeliest forgotten first, as a card like a quiz."""
    from .rehearsal import review_card

    return review_card(limit)


def readiness() -> None:
    """Show how ready you are, topic by topic, over time."""
    from .rehearsal import standing
    from .standing import readiness_card

    readiness_card(standing()).show()


def export_progress(path: str) -> None:
    """Write everything you answered to a new JSON file, for another machine or for safety.

    Raises:
        StoreError: if the file is there already or cannot be written.
    """
    from .keeping import exported

    exported(path).show()


def import_progress(path: str) -> None:
    """Add the answers of an exported file that are not here yet. Twice is as once.

    Raises:
        StoreError: if it is no exported file; nothing is added then.
    """
    from .keeping import imported

    imported(path).show()


def reset_progress(*, confirm: str = "") -> None:
    """Forget every answer. Called without `confirm` it forgets nothing and says what to pass."""
    from .keeping import reset

    reset(confirm).show()


def progress() -> None:
    """Show how many questions and exercises of every chapter are done."""
    from .memory import standings
    from .reports import progress_card

    progress_card(standings()).show()
