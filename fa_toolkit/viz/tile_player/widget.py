"""The tile player in a notebook: its module, its style, its stills."""

from __future__ import annotations

from ..assets import module, style
from ..player.widget import Player
from .state import TileState


class TilePlayer(TileState, Player):
    """Flash Attention played tile by tile. `.step`, `.guesses` and `.settings` are traits."""

    _esm = module("tile_player.js")
    _css = style("player.css", "tile_player.css")
    _height = 700
