"""What the notebooks call: start a chapter, ask its quiz, check an exercise, show source.

Wires the floors together and shows cards; decides nothing about right and wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import language
from ..errors import FaError
from ..language import Text, say
from .calls import (
    export_progress,
    gpu,
    import_progress,
    interview,
    interview_on,
    last_interview,
    on_gpu,
    progress,
    readiness,
    reset_progress,
    review,
    track,
)

if TYPE_CHECKING:  # it brings torch, and `fa lab` reads this package without
    from .. import exercises

__all__ = [
    "ask",
    "check",
    "compare",
    "copy_bandwidth",
    "departure",
    "export_progress",
    "gpu",
    "hint",
    "import_progress",
    "interview",
    "interview_on",
    "kernel_view",
    "last_interview",
    "on_gpu",
    "progress",
    "quiz",
    "readiness",
    "reset",
    "reset_progress",
    "review",
    "show_source",
    "show_verdict",
    "solution",
    "start",
    "track",
]

_hints_shown: dict[str, int] = {}
_reports: dict[str, exercises.Report] = {}  # of the last check of each exercise
_NOT_KEPT = Text("The result could not be saved: {reason}", "结果没能保存：{reason}")


def start(chapter: int, lang: str = "en") -> None:
    """Open a chapter: choose the language, set up figures, and show where this session stands.

    The strip under the card says what is done of the chapter and what comes next; it follows what
    is run and answered as long as the kernel lives. Decides where kernels run, before anything
    imports Triton. Creates no GPU context.

    Args:
        chapter: the number in the notebook's name.
        lang: "en" or "zh".

    Raises:
        ArgumentError: if there is no such chapter or language.
    """
    from .. import exercises
    from .cards import shell
    from .session import set_up_figures, start_card
    from .watching import watch

    language.choose(lang)
    card = start_card(chapter)
    set_up_figures()
    card.show()
    watch(chapter)
    if exercises.ids(chapter) and shell() is not None:
        exercises.warm()  # the process of the checks starts while the reader reads


def quiz(chapter: int) -> Any:
    """The chapter's questions as a card that remembers answers; its text outside a notebook."""
    return _asked(chapter)


def ask(question_id: str) -> Any:
    """One question as a card, kept like the others.

    Raises:
        UnknownNameError: if there is no such question; near ones are named.
    """
    from ..quiz import load_bank

    return _asked(load_bank().chapter_of(question_id).number, only=[question_id])


def _asked(chapter: int, only: list[str] | None = None) -> Any:
    from ..quiz.widget import quiz as widget
    from .memory import store

    kept = store()
    return widget(
        chapter,
        lang=language.current(),
        record=_recording(kept.record),
        restore=lambda: kept.latest(chapter),
        report=kept.note_said,
        learner=str(getattr(kept, "learner", "")),
        only=only,
    )


def _recording(record: Callable[..., Any]) -> Callable[..., Any]:
    """`record`, after which the strip at the top of the chapter says what is new."""
    from .watching import refresh

    def keep(attempt: Any) -> Any:
        try:
            return record(attempt)
        finally:
            refresh()

    return keep


def compare(guess: object, value: Any, unit: str = "") -> None:
    """Show a prediction beside the number it was a prediction of. Without a guess, ask for one.

    Args:
        guess: a number, or text such as "e^-2"; `...` is no guess yet.
        value: the number.
        unit: written behind both.

    Raises:
        ArgumentError: if `value` is not a number.
    """
    from .predictions import prediction_card

    prediction_card(guess, value, unit).show()


def copy_bandwidth(sizes: Sequence[int]) -> None:
    """Measure and show how fast this machine copies tensors of these sizes, in bytes.

    Raises:
        ArgumentError: if a size is not between 1 byte and 1 GiB.
    """
    from .bandwidth import bandwidth_card

    bandwidth_card(sizes).show()


def check(exercise_id: str, fn: Callable[..., Any]) -> None:
    """Check `fn`, show the report, and remember the outcome.

    Args:
        exercise_id: such as "03.merge".
        fn: your function itself, without brackets.

    Raises:
        UnknownNameError: if there is no such exercise; near ones are named.
    """
    from .. import exercises
    from .cards import Card, note
    from .memory import record_report
    from .reports import report_card
    from .session import quiet_mode

    quiet_mode()
    report = exercises.check(exercise_id, fn)
    _reports[exercise_id] = report
    report_card(report).show()
    try:
        record_report(report)
    except (FaError, OSError) as error:
        text = say(_NOT_KEPT, reason=str(error))
        Card(note(text), text).show()


def hint(exercise_id: str, level: int | None = None) -> None:
    """Show the next hint of an exercise, or hint `level` of 1, 2, 3, 4.

    The first says what failed in your last check and where, the second which invariant broke, the
    third which mistake it is, the fourth the lines with blanks.

    Raises:
        UnknownNameError: if there is no such exercise.
        ArgumentError: if the level is not 1, 2, 3 or 4.
    """
    from .. import exercises
    from .reports import hint_card

    if level is None:
        level = min(_hints_shown.get(exercise_id, 0) + 1, exercises.LEVELS)
    card = hint_card(exercise_id, level, _reports.get(exercise_id))
    _hints_shown[exercise_id] = max(level, _hints_shown.get(exercise_id, 0))
    card.show()


def solution(exercise_id: str) -> None:
    """Show the package's solution of an exercise. Progress keeps that it was shown.

    Raises:
        UnknownNameError: if there is no such exercise.
    """
    from .cards import Card, note
    from .memory import record_solution
    from .reports import solution_card

    solution_card(exercise_id).show()
    try:
        record_solution(exercise_id)
    except (FaError, OSError) as error:
        text = say(_NOT_KEPT, reason=str(error))
        Card(note(text), text).show()


def departure(exercise_id: str) -> Any:
    """The tile player at the first tile in which your last checked answer went wrong.

    Raises:
        UnknownNameError: if there is no such exercise.
        ArgumentError: if no check of this session has found a wrong tile.
    """
    from .helping import departure_view

    return departure_view(exercise_id, _reports.get(exercise_id))


def reset(exercise_id: str) -> None:
    """Give the cell of an exercise back as it first stood; hints start again at the first.

    Raises:
        UnknownNameError: if there is no such exercise.
    """
    from .helping import stub_card

    card = stub_card(exercise_id)
    _hints_shown.pop(exercise_id, None)
    _reports.pop(exercise_id, None)
    card.show()


def kernel_view(
    fn: Callable[..., Any] | None = None,
    *args: Any,
    beside: dict[str, Any] | None = None,
    cut: str = "labels",
    start: str | None = None,
    **kwargs: Any,
) -> Any:
    """Run a real kernel in the interpreter and play it: its source beside what it does to memory.

    `fa.course.kernel_view()` shows the forward kernel on seven queries, and
    `fa.course.kernel_view(fa.kernels.vector_add, x, y, block=4, beside={"block": 8})` two runs.

    Args:
        fn: a launcher such as fa.kernels.matmul; `args` and `kwargs` are what it is called with.
        beside: keywords of a second run, shown next to the first, such as {"tile": TileShape(8, 4)}.
        cut: what a step is: "programs", "labels" or "lines".
        start: open at the first step of this labelled part, such as "update".

    Raises:
        ArgumentError: if `fn` launches no kernel, or has no such part.
        BackendUnavailable: where no kernel can run.
    """
    from .kernels_shown import recorded_view

    return recorded_view(fn, args, kwargs, beside=beside, cut=cut, start=start)


def show_verdict(verdict: Any) -> None:
    """Show what `fa.quiz.grade` says of an answer."""
    from .standing import verdict_card

    verdict_card(verdict).show()


def show_source(obj: Any, around: str = "") -> None:
    """Show the source of a function, class or Triton kernel, with its file and line.

    Args:
        around: a name such as "HAS_SINK": only the lines that hold it, with the blocks they open.

    Raises:
        ArgumentError: if it has no Python source, or no line holds the name.
    """
    from .source import source_card

    source_card(obj, around).show()
