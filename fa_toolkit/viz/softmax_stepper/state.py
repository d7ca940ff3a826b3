"""What the stepper is showing, as traits that hold without any front end. Draws nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import traitlets

from ...errors import ArgumentError
from ...language import LANGUAGES, check, current, using
from .frames import Run, run
from .row import read_blocks, read_row
from .wire import labels, payload, presets


class StepperState(traitlets.HasTraits):
    """The row, its blocks, the step on show, and what the reader has predicted.

    Setting `typed` is what the reader does when they enter another row: it either replaces the run
    or sets `error` to one line that says what to write, and leaves the old run on show.
    """

    x = traitlets.List(traitlets.Float(), read_only=True).tag(sync=True)
    blocks = traitlets.List(traitlets.Int(), read_only=True).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    lang = traitlets.Enum(LANGUAGES).tag(sync=True)
    predict = traitlets.Bool(True).tag(sync=True)
    typed = traitlets.Dict().tag(sync=True)
    error = traitlets.Unicode("").tag(sync=True)
    guesses = traitlets.Dict().tag(sync=True)
    prediction = traitlets.Float(None, allow_none=True, read_only=True)
    payload = traitlets.Dict().tag(sync=True)
    labels = traitlets.Dict().tag(sync=True)
    presets: Any = traitlets.List().tag(sync=True)

    def __init__(
        self,
        x: str | Sequence[float] = (1, 2, 3, 4),
        blocks: str | int | Sequence[int] = 2,
        *,
        lang: str | None = None,
        predict: bool = True,
        **more: Any,
    ) -> None:
        chosen = current() if lang is None else check(lang)
        row = read_row(x)
        self.run: Run = run(row, read_blocks(blocks, len(row)))
        super().__init__(lang=chosen, predict=predict, **more)
        self._publish()

    def load(self, x: str | Sequence[float], blocks: str | int | Sequence[int]) -> None:
        """Show another row from its start.

        Raises:
            ArgumentError: if the row or the blocks cannot be drawn.
        """
        row = read_row(x)
        self.run = run(row, read_blocks(blocks, len(row)))
        with self.hold_trait_notifications():
            self.guesses = {}
            self.step = 0
            self.error = ""
            self._publish()

    def _publish(self) -> None:
        with using(self.lang):
            self.payload, self.labels, self.presets = payload(self.run), labels(), presets()
        self.set_trait("x", self.run.x)
        self.set_trait("blocks", self.run.blocks)

    @traitlets.validate("step")
    def _inside(self, proposal: Any) -> int:
        return min(max(0, int(proposal["value"])), len(self.run.frames) - 1)

    @traitlets.observe("lang")
    def _speak(self, change: Any) -> None:
        if self.payload:
            self._publish()

    @traitlets.observe("typed")
    def _read_typed(self, change: Any) -> None:
        wanted = change["new"]
        if not wanted:
            return
        with using(self.lang):
            try:
                self.load(str(wanted.get("x", "")), str(wanted.get("blocks", "")))
            except ArgumentError as wrong:
                self.error = str(wrong)

    @traitlets.observe("guesses")
    def _told(self, change: Any) -> None:
        values = [g.get("value") for g in change["new"].values() if g.get("value") is not None]
        self.set_trait("prediction", float(values[-1]) if values else None)
