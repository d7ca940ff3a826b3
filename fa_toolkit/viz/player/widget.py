"""The shell every player is shown by: an anywidget, and the ways out of the notebook."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import anywidget

from ...language import using
from ..palette import Theme, check_theme
from .page import framed, page
from .state import PlayerState

_SYNCED = ("step", "lang", "predict", "guesses", "settings", "error", "head", "blob")


class Player(PlayerState, anywidget.AnyWidget):
    """A player in a notebook. Subclasses set `_esm`, `_css` and `_height`.

    Where no widget can be drawn, the output is a page that plays by itself, or text.
    """

    _height = 640  # of a page inside another one, before it measures itself

    def to_html(self, path: str | Path | None = None, *, theme: Theme = "auto") -> str:
        """One HTML document that plays from the step on show; written to `path` if one is given.

        It needs no kernel, no network and no other file.

        Args:
            theme: "light", "dark", or "auto" for what the reader's system prefers.
        """
        state = {name: getattr(self, name) for name in _SYNCED}
        with using(self.lang) as lang:
            made = page(str(self._esm), str(self._css), state, title=self.title, text=self.text(),
                        lang=lang, theme=theme)  # fmt: skip
        if path is not None:
            Path(path).write_text(made, encoding="utf-8")
        return made

    def to_svg(self, path: str | Path | None = None, *, theme: Theme = "light") -> str:
        """The step on show as one SVG, text as paths; written to `path` if one is given."""
        with using(self.lang):
            check_theme(theme)
            made: str = self.still(theme=theme).svg()
        made = made.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) if (
            "xmlns=" not in made[:400]
        ) else made  # fmt: skip
        if path is not None:
            Path(path).write_text(made, encoding="utf-8")
        return made

    def to_png(
        self, path: str | Path | None = None, *, theme: Theme = "light", dpi: int = 200
    ) -> bytes:
        """The step on show as a PNG; written to `path` if one is given."""
        buffer = io.BytesIO()
        with using(self.lang):
            check_theme(theme)
            self.still(theme=theme).savefig(buffer, format="png", dpi=dpi)
        if path is not None:
            Path(path).write_bytes(buffer.getvalue())
        return buffer.getvalue()

    @property
    def title(self) -> str:
        """The player's name in the language on show."""
        return str(self.head["words"][self.lang]["title"])

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/plain"] = self.text()
            data["text/html"] = framed(self.to_html(), title=self.title, height=self._height)
        return bundle
