"""The memory ladder in a notebook: its module, its style, its stills."""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentError
from ..assets import module, style
from ..palette import Theme
from ..player.widget import Player
from .state import LadderState


class MemoryLadder(LadderState, Player):
    """The memories of a GPU and a tensor beside them. `.settings` follow the controls."""

    _esm = module("memory_ladder.js")
    _css = style("player.css", "memory_ladder.css")
    _height = 640

    def still(self, *, theme: Theme = "light") -> Any:
        """The GPU and the tensor on show as one figure."""
        from ..figures.ladder import ladder_figure

        if self.error:
            raise ArgumentError("n", expected="1 ... 2^20", got=self.error)
        tensor = (self.settings["what"], self.bytes)
        return ladder_figure(self.gpu, tensor=tensor, theme=theme, lang=self.lang)
