"""The block chooser in a notebook, and the tile player that plays what was chosen."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ...errors import ArgumentError
from ...problem import AttentionProblem, TileShape
from ..assets import module, style
from ..flash_tiles.state import traced
from ..flash_tiles.widget import TilePlayer
from ..palette import Theme
from ..player.widget import Player
from .state import ChoiceState

TILES_A_SIDE = 4  # of the longer side of the tile, in the player


class BlockChooser(ChoiceState, Player):
    """Tiles on a grid beside the roofline. `.tile` is the choice, `.player` plays it."""

    _esm = module("block_chooser.js")
    _css = style("player.css", "block_chooser.css")
    _height = 760

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.observe(self._asked, "settings")

    @cached_property
    def player(self) -> TilePlayer:
        """A tile player of the tile on show; "play this tile" loads another one into it."""
        run, error = self._run(self.tile)
        self.settings = {**self.settings, "player": True}  # the button appears
        return TilePlayer(run, error=error, gpu_name=self.gpu.key, lang=self.lang)

    def load(self, tile: TileShape | None = None) -> TilePlayer:
        """Put `tile`, or the one on show, into `.player`; it begins anew."""
        tile = tile or self.tile
        made = "player" in self.__dict__
        player = self.player
        if made or tile != self.tile:
            run, error = self._run(tile)
            fresh = TilePlayer(run, error=error, gpu_name=self.gpu.key, lang=player.lang)
            player.tape, player.cuts = fresh.tape, fresh.cuts
            with player.hold_sync():
                player.step, player.guesses, player.error = 0, {}, fresh.error
                player.settings, player.blob, player.head = fresh.settings, fresh.blob, fresh.head
            fresh.close()
        return player

    def _run(self, tile: TileShape) -> tuple[Any, str]:
        """A run that shows whole tiles: the length is a few of them, the rest is on show."""
        length = min(self.problem.len_k, TILES_A_SIDE * max(tile.block_m, tile.block_n))
        problem = AttentionProblem(
            len_q=length, len_k=length, head_dim=self.problem.head_dim, causal=self.problem.causal
        )
        return traced(problem, tile, backward=False, seed=7)

    def _asked(self, change: Any) -> None:
        wanted = self.settings.get("load", "")
        if not wanted or wanted == self.settings.get("loaded"):
            return
        self.load(TileShape(*map(int, wanted.split("x"))))
        self.settings = {**self.settings, "loaded": wanted}

    def still(self, *, theme: Theme = "light") -> Any:
        """The roofline with standard and Flash Attention under it."""
        from ...io_model import forward_flops, intensity
        from ...language import say
        from ..figures.roofline import roofline_figure
        from .words import UI

        if self.error:
            raise ArgumentError("n", expected="1 ... 2^17", got=self.error)
        flops, tile = forward_flops(self.problem), self.tile
        named = {"standard": say(UI["standard"]),
                 "flash": f"{say(UI['flash'])} {tile.block_m} × {tile.block_n}"}  # fmt: skip
        points = {named[name]: intensity(flops, bill) for name, bill in self.bills.items()}
        return roofline_figure(self.gpu, points, theme=theme, lang=self.lang)
