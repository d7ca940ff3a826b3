"""The traffic player in a notebook: its module, its style, its stills."""

from __future__ import annotations

from typing import Any

from ..assets import module, style
from ..palette import Theme
from ..player.widget import Player
from .state import TrafficState


class TrafficPlayer(TrafficState, Player):
    """Standard attention and Flash Attention on one clock. `.settings` follow the sliders."""

    _esm = module("traffic_player.js")
    _css = style("player.css", "traffic_player.css")
    _height = 660

    def still(self, *, theme: Theme = "light") -> Any:
        """The whole bill by phase and tensor, as `viz.traffic_bars` draws it."""
        from ..figures.traffic import traffic_bars

        return traffic_bars(self.problem, self.tile, theme=theme, lang=self.lang)
