"""The kernel view in a notebook: its module, its style, its stills."""

from __future__ import annotations

from typing import Any

from ..assets import module, style
from ..palette import Theme
from ..player.widget import Player
from .state import KernelState


class KernelView(KernelState, Player):
    """A kernel's source beside what it loads and stores. `.step` and `.settings` are traits."""

    _esm = module("kernel_view.js")
    _css = style("player.css", "kernel_view.css")
    _height = 680

    def still(self, *, theme: Theme = "light") -> Any:
        """The step on show as a figure, of the first recording."""
        from .still import still

        return still(self, self.step, theme=theme)
