"""Help with an exercise beyond its report: the wrong tile in the player, and the stub given back."""

from __future__ import annotations

from typing import Any

from .. import exercises
from ..errors import ArgumentError
from ..exercises import Report
from ..language import Text, say
from . import cards
from .cards import Card, shell
from .source import highlighted

_STUB = Text("The cell as it first stood", "最初的代码格")
_PUT = Text(
    "It stands in a new cell below; what you wrote is untouched.",
    "它放在下面的新格里；你写过的代码没有动。",
)
_NO_TILE = Text("a check of {id} that found a wrong tile", "先检查 {id}，并发现某一块出错")
_NO_CHECK = Text("no such check in this session", "本次运行中没有这样的检查")


def departure_view(exercise_id: str, report: Report | None) -> Any:
    """The tile player, at the first tile in which the last checked answer departs.

    Raises:
        UnknownNameError: if there is no such exercise.
        ArgumentError: if no check of it has found a wrong tile.
    """
    exercises.get(exercise_id)
    if report is None or report.departure is None:
        raise ArgumentError(
            "exercise_id",
            expected=say(_NO_TILE, id=exercise_id),
            got=_NO_CHECK,
            hint=f'fa.course.check("{exercise_id}", ...)',
        )
    from ..viz.flash_tiles import tile_player

    found = report.departure
    backward = found.output in ("dq", "dk", "dv")
    player = tile_player(found.problem, tile=found.tile, backward=backward, predict=False)
    player.step = _step_of(player, found.rows, found.keys)
    return player


def _step_of(player: Any, rows: tuple[int, int], keys: tuple[int, int] | None) -> int:
    """The first step that works on these rows (and keys); the beginning if none does."""
    if player.tape is None:
        return 0
    box = player.tape.columns["box"]
    for number, frame in enumerate(player.frames):
        for event in range(frame.start, frame.stop):
            if int(player.tape.columns["kind"][event]) != 2:  # work, which has rows and keys
                continue
            top, bottom, left, right = (int(n) for n in box[event])
            met = top < rows[1] and bottom > rows[0]
            if met and (keys is None or (left < keys[1] and right > keys[0])):
                return number
    return 0


def stub_card(exercise_id: str) -> Card:
    """The stub, put into a new cell where there is a notebook.

    Raises:
        UnknownNameError: if there is no such exercise.
    """
    exercise, code = exercises.get(exercise_id), exercises.stub(exercise_id)
    notebook: Any = shell()
    put = notebook is not None and hasattr(notebook, "kernel")
    if put:
        notebook.set_next_input(code, replace=False)
    body = cards.head(say(exercise.title), before=f"{exercise_id} · {say(_STUB)}")
    body += cards.foot(say(_PUT)) if put else f'<pre class="fc-code">{highlighted(code)}</pre>'
    return Card(body, f"{exercise_id}  {say(_STUB)}\n{say(_PUT) if put else code}")
