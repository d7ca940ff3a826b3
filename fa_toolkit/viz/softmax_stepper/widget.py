"""The stepper in a notebook: its module, its style, its stills."""

from __future__ import annotations

from typing import Any

from ..assets import module, style
from ..palette import Theme
from ..player.widget import Player
from .state import StepperState


class Stepper(StepperState, Player):
    """Softmax over one row, step by step. `.step`, `.guesses` and `.prediction` are traits."""

    _esm = module("stepper.js")
    _css = style("player.css", "stepper.css")
    _height = 720

    def still(self, *, theme: Theme = "light") -> Any:
        """The step on show as a figure."""
        from .still import still

        return still(self.run, self.view, self.step, theme=theme, lang=self.lang)
