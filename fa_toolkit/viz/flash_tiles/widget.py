"""The tile player in a notebook: its module, its style, its stills."""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentError
from ..assets import module, style
from ..palette import Theme
from ..player.widget import Player
from .state import TileState


class TilePlayer(TileState, Player):
    """Flash Attention played tile by tile. `.step`, `.guesses` and `.settings` are traits."""

    _esm = module("tile_player.js")
    _css = style("player.css", "tile_player.css")
    _height = 700

    def still(self, *, theme: Theme = "light") -> Any:
        """The step on show as a figure.

        Raises:
            ArgumentError: if there is nothing to show, or there are too many tiles to mark.
        """
        from .still import still

        if self.tape is None:
            raise ArgumentError("trace", expected=">= 1", got=self.error)
        return still(self.tape, self.frames, self.step, theme=theme, lang=self.lang)
