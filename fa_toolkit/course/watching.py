"""Keeps the strip of a chapter up to date while its cells are run, and remembers the last place.

One chapter is watched at a time, that of the last `start` in this process. A cell is known by the id
that JupyterLab sends with it, else by its text.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from .. import study
from ..errors import ArgumentError, FaError
from ..language import current
from ..progress import reading
from .cards import Card, shell
from .memory import store
from .parts import source_of
from .strip import strip_card

logger = logging.getLogger(__name__)
_EVENT = "post_run_cell"
_watched: list[Watch] = []


class Watch:
    """A chapter that is open in this kernel, and the strip it shows."""

    def __init__(self, chapter: int) -> None:
        self.chapter, self.display_id = chapter, f"fa-strip-{chapter:02d}"
        self.ids, self.texts = _cells(chapter)
        self.shown = ""
        self._last = -1

    def show(self) -> None:
        """Display the strip under an id by which it can be replaced."""
        card = strip_card(self.chapter)
        self.shown = _without_time(card)
        if not card.text:
            return
        if shell() is None:
            card.show()
            return
        from IPython.display import display

        mark = {"fa": {"strip": self.chapter}}  # by which a page without a kernel can leave it out
        display(card, display_id=self.display_id, metadata=mark)  # type: ignore[no-untyped-call]

    def refresh(self) -> None:
        """Replace the strip if anything in it is different now."""
        card = strip_card(self.chapter)
        if _without_time(card) == self.shown or shell() is None:
            return
        self.shown = _without_time(card)
        from IPython.display import update_display

        mark = {"fa": {"strip": self.chapter}}
        update_display(card, display_id=self.display_id, metadata=mark)  # type: ignore[no-untyped-call]

    def ran(self, result: Any) -> None:
        """A cell was run: keep that it was, and bring the strip up to date."""
        if not getattr(result, "success", False):
            return
        cell = self._cell_of(str(getattr(result.info, "raw_cell", "") or ""))
        if cell is not None:
            reading.note(store(), self.chapter, cell, current())
        self.refresh()

    def _cell_of(self, text: str) -> str | None:
        sent = sent_id()
        if sent in self.ids:
            return sent
        places = self.texts.get(text.strip(), [])
        # cells with the same text come in order: the next after the last one that was run
        at = next((n for n in places if n > self._last), places[0] if places else None)
        if at is None:
            return None
        self._last = at
        return self.ids[at]


def watch(chapter: int) -> None:
    """Show the strip of this chapter and follow what is run from here on."""
    stop()
    here = Watch(chapter)
    here.show()
    active: Any = shell()
    if active is not None:
        _watched.append(here)
        active.events.register(_EVENT, _after)


def stop() -> None:
    """Watch nothing any more."""
    active: Any = shell()
    if _watched and active is not None and _after in active.events.callbacks.get(_EVENT, ()):
        active.events.unregister(_EVENT, _after)
    _watched.clear()


def refresh() -> None:
    """Something was answered outside a cell: bring the strip up to date."""
    for here in _watched:
        _quietly(here.refresh)


def _after(result: Any) -> None:
    for here in _watched:
        _quietly(here.ran, result)


def _quietly(work: Any, *arguments: Any) -> None:
    """The strip is a courtesy: what goes wrong with it must not stand under a learner's cell."""
    try:
        work(*arguments)
    except (FaError, OSError) as error:
        logger.info("the strip stays as it is: %s", error)


def sent_id() -> str:
    """The id of the running cell, if the front end says it."""
    active: Any = shell()
    try:
        return str(active.get_parent()["metadata"].get("cellId", ""))
    except (AttributeError, KeyError, TypeError):
        return ""


def _cells(chapter: int) -> tuple[list[str], dict[str, list[int]]]:
    """Ids of the chapter's code cells, and the places at which each text stands."""
    try:
        path = study.source_folder() / study.notebook(chapter, current())
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (ArgumentError, OSError, ValueError, KeyError):
        return [], {}
    ids: list[str] = []
    texts: dict[str, list[int]] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            texts.setdefault(source_of(cell).strip(), []).append(len(ids))
            ids.append(cell["id"])
    return ids, texts


def _without_time(card: Card) -> str:
    """What a strip says besides the moment: its list, with every state in words."""
    return card.body.rpartition('<p class="fc-soft">')[0]
