"""The shell: the state synchronised to the browser, the ES module, and a static fallback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget

from ...language import using
from ..assets import module, style
from .state import StepperState
from .still import table, text


class Stepper(StepperState, anywidget.AnyWidget):
    """The online-softmax stepper in a notebook. `.step`, `.guesses` and `.prediction` are traits.

    Where no widget can be drawn (a static page, a terminal) the same steps stand as a table.
    """

    _esm = module("stepper.js")
    _css = style("player.css", "stepper.css")

    def __init__(
        self,
        x: str | Sequence[float] = (1, 2, 3, 4),
        blocks: str | int | Sequence[int] = 2,
        *,
        lang: str | None = None,
        predict: bool = True,
    ) -> None:
        super().__init__(x, blocks, lang=lang, predict=predict)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            with using(self.lang):
                data["text/html"], data["text/plain"] = table(self.run), text(self.run)
        return bundle
