"""What the stepper is showing, as traits that hold without any front end. Draws nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import traitlets

from ...errors import ArgumentError
from ...language import LANGUAGES, say, using
from ..player.columns import pack
from ..player.state import PlayerState
from ..player.words import SHELL, both
from .frames import ASKS, VIEWS, Frame, Run, View, run
from .row import MAX_LENGTH, MAX_SIZE, MAX_WIDTH, read_blocks, read_row, read_values
from .sentences import sentence
from .words import PRESETS, SAYS, UI

Row = str | Sequence[float]
Blocks = str | int | Sequence[int]
Values = str | Sequence[float] | Sequence[Sequence[float]] | None


class StepperState(PlayerState):
    """The row, its blocks and V, the way it is played, the step, and what the reader predicted.

    `settings["row"]` (x, blocks, v) is what the reader types and `settings["view"]` how it is
    played; the browser computes the same frames from them, so a page needs no kernel to show
    another row. What cannot be drawn sets `error` and leaves the last good run in place.
    """

    prediction = traitlets.Float(None, allow_none=True, read_only=True)

    def __init__(
        self,
        x: Row = (1, 2, 3, 4),
        blocks: Blocks = 2,
        *,
        v: Values = None,
        view: str = "online",
        **more: Any,
    ) -> None:
        self.run: Run = _read(x, blocks, v)
        super().__init__(**more)
        self.settings = {"row": _wire(self.run), "view": check_view(view)}
        words = {**SHELL, **UI, **{f"say_{name}": text for name, text in SAYS.items()}}
        layout, self.blob = pack({})
        self.head = {
            "layout": layout, "words": both(words), "views": list(VIEWS),
            "most": {"length": MAX_LENGTH, "size": MAX_SIZE, "width": MAX_WIDTH},
            "presets": [{"label": _labels(text), "x": x, "blocks": b} for text, x, b in PRESETS],
        }  # fmt: skip

    def load(self, x: Row, blocks: Blocks, v: Values = None) -> None:
        """Show another row from its start.

        Raises:
            ArgumentError: if the row, the blocks or V cannot be drawn.
        """
        made = _read(x, blocks, v)
        self.guesses = {}
        self.step = 0
        self.settings = {**self.settings, "row": _wire(made)}

    @property
    def view(self) -> View:
        """How the row is played: "three", "online" or "merged"."""
        chosen: View = self.settings["view"]
        return chosen

    @property
    def frames(self) -> list[Frame]:
        """The steps on show."""
        return self.run.views[self.view]

    @property
    def x(self) -> list[float]:
        """The row."""
        return self.run.x

    @property
    def blocks(self) -> list[int]:
        """The length of each block."""
        return self.run.blocks

    @property
    def last(self) -> int:
        return len(self.frames) - 1

    def asked(self, step: int | None = None) -> bool:
        """Whether the player stands at a step with a question."""
        return self.frames[self.step if step is None else step].kind in ASKS

    def caption(self, step: int | None = None) -> str:
        """The sentence of a step, in the language on show, without marks."""
        frame = self.frames[self.step if step is None else step]
        with using(self.lang):
            return sentence(self.run, self.view, frame).replace("*", "")

    def text(self) -> str:
        """Every step in words."""
        with using(self.lang):
            title, way = say(UI["title"]), say(UI[self.view])
        lines = [f"{title}: {self.x}, {self.blocks} ({way})"]
        lines += [f"{number + 1:>2}  {self.caption(number)}" for number in range(len(self.frames))]
        return "\n".join(lines)

    @traitlets.observe("settings")
    def _read_settings(self, change: Any) -> None:
        if not change["old"] or change["new"] == change["old"]:
            return  # nothing was on show yet
        row = change["new"].get("row", {})
        try:
            check_view(change["new"].get("view", ""))
            made = _read(row.get("x", ""), row.get("blocks", ""), row.get("v"))
        except ArgumentError as wrong:
            self.settings = change["old"]
            with using(self.lang):
                self.error = str(wrong)
            return
        self.run, self.error = made, ""
        self.step = min(self.step, self.last)

    @traitlets.observe("guesses")
    def _told(self, change: Any) -> None:
        values = [g.get("value") for g in change["new"].values() if g.get("value") is not None]
        self.set_trait("prediction", float(values[-1]) if values else None)


def check_view(view: str) -> str:
    """Refuse a way of playing that does not exist."""
    if view not in VIEWS:
        raise ArgumentError("view", expected=" | ".join(VIEWS), got=repr(view))
    return view


def _read(x: Row, blocks: Blocks, v: Values) -> Run:
    row = read_row(x)
    return run(row, read_blocks(blocks, len(row)), read_values(v, len(row)))


def _wire(made: Run) -> dict[str, Any]:
    return {"x": made.x, "blocks": made.blocks, "v": made.v}


def _labels(text: Any) -> dict[str, str]:
    return {lang: both({"label": text})[lang]["label"] for lang in LANGUAGES}
