"""What a player is showing, as traits that hold without any front end. Draws nothing."""

from __future__ import annotations

from typing import Any

import traitlets

from ...language import LANGUAGES, check, current
from ..palette import Theme


class PlayerState(traitlets.HasTraits):
    """The step on show, the language, the reader's guesses and settings, and the data.

    `head` (JSON) and `blob` (bytes, laid out as `head["layout"]` says) are everything the picture
    is drawn from, in both languages: a browser that has them needs no kernel. `error` is one line
    shown instead of a picture, or above the last good one.
    """

    step = traitlets.Int(0).tag(sync=True)
    lang = traitlets.Enum(LANGUAGES).tag(sync=True)
    predict = traitlets.Bool(True).tag(sync=True)
    guesses = traitlets.Dict().tag(sync=True)
    settings = traitlets.Dict().tag(sync=True)
    error = traitlets.Unicode("").tag(sync=True)
    head = traitlets.Dict().tag(sync=True)
    blob = traitlets.Bytes(b"").tag(sync=True)

    def __init__(self, *, lang: str | None = None, **more: Any) -> None:
        super().__init__(lang=current() if lang is None else check(lang), **more)

    @property
    def last(self) -> int:
        """The highest step there is; a subclass knows."""
        raise NotImplementedError

    def text(self) -> str:
        """Every step in words, for places without a picture; a subclass knows."""
        raise NotImplementedError

    def still(self, *, theme: Theme = "light") -> Any:
        """The step on show as a `viz` figure; a subclass knows."""
        raise NotImplementedError

    @traitlets.validate("step")
    def _inside(self, proposal: Any) -> int:
        return min(max(0, int(proposal["value"])), max(0, self.last))

    def __str__(self) -> str:
        return self.text()
